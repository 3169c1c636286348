"""Single commits, as events described them."""

from typing_extensions import TypedDict

from hub.api.repositories import commit_serializers
from hub.api.repositories.commit_serializers import Commit
from hub.auth.repository_access import on_repo
from hub.http.response import TypedReply, form_reply
from hub.rest import commit_lookup
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.resolve import text
from store import Row

ops = OperationGroup("repos", ref=text)

READ = on_repo("contents", "read").or_anyone()


class CommitStats(TypedDict, total=False):
    """The numbers of changed lines. They are not known here."""

    additions: int
    deletions: int
    total: int


class ChangedFile(TypedDict):
    """A file that a commit changed. The lists have none."""

    filename: str


class WholeCommit(Commit):
    """A commit. Its parents, files and numbers of lines are not known here."""

    stats: CommitStats
    files: list[ChangedFile]


@ops("GET /repos/{owner}/{repo}/commits/{ref}", READ, media=("sha",), errors=(422,))
def get_commit(ctx: Context, repo: Row, ref: str) -> WholeCommit | TypedReply:
    """Get a commit

    `ref` is a full SHA, a branch (`main`, `heads/main`), a tag (`v1`, `tags/v1`) or `HEAD`. 422 for
    another name. The commit is shown as a push or a check suite described it. The server keeps no
    history. So a full SHA need not be known here, as in the lists of its statuses and checks: the
    message and the SHA of the tree are then empty, and the people are null. `parents`, `files` and
    `stats` are always empty. The media type parameter `sha` requests the SHA alone, as text.
    """
    sha, description = commit_lookup.find_described(ctx.db, repo, ref)
    if ctx.media.param == "sha":
        return form_reply("sha", sha.encode())
    found = commit_serializers.known_commit(ctx.urls, ctx.db, repo, sha, description)
    return {**found, "stats": {}, "files": []}
