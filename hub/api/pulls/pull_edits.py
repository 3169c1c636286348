"""Pull requests: creating and changing them, between branches that are known here."""

from typing import Annotated, Literal, NotRequired

from annotated_types import MaxLen, MinLen
from typing_extensions import TypedDict

from hub.api.issues import issue_change_events, issue_rules
from hub.api.issues.body_forms import FORMS
from hub.api.issues.issue_rules import Body, Title
from hub.api.issues.text_and_state import change_state, change_texts, check_no_other_open
from hub.api.pulls import pull_serializers
from hub.api.pulls.pull_serializers import PullRequest
from hub.auth.repository_access import on_repo
from hub.auth.viewing import may_read
from hub.http.errors import Forbidden
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.interaction_check import check_archived, check_interaction, check_pull_request_cap
from hub.rest.validation import Text
from store import Row
from store.errors import Invalid
from store.issues import pull_changes, pulls
from store.issues.issue_changes import IssueChange
from store.repositories import author_association, refs, repositories

ops = OperationGroup("pulls", pull_number=pulls.get)

CREATE = on_repo("pull_requests", "write", public_scopes=("public_repo",))
CHANGE = on_repo("pull_requests", "write", role="write", public_scopes=("public_repo",)).or_author()
HEADS = "refs/heads/"

Branch = Annotated[Text, MinLen(1), MaxLen(512)]
RepositoryName = Annotated[Text, MinLen(1), MaxLen(100)]


class NewPullRequest(TypedDict):
    """A pull request to create.

    `head` is a branch of the repository, or `owner:branch` of a repository of that owner with the
    same name or the name `head_repo`.
    """

    title: Title
    head: Branch
    base: Branch
    head_repo: NotRequired[RepositoryName]
    body: NotRequired[Body | None]
    draft: NotRequired[bool]
    maintainer_can_modify: NotRequired[bool]


class PullRequestEdit(TypedDict, total=False):
    """A change of a pull request. Members that are not given stay. `base` must be the present
    base.
    """

    title: Title
    body: Body | None
    state: Literal["open", "closed"]
    base: Branch
    maintainer_can_modify: bool


@ops(
    "POST /repos/{owner}/{repo}/pulls",
    CREATE,
    status=201,
    emits=("pull_request.opened",),
    created=True,
    **FORMS,
)
def create(ctx: Context, repo: Row, body: NewPullRequest) -> PullRequest:
    """Create a pull request

    The branches must be known here, and the caller must have write access to the repository of the
    head. 403 if an interaction limit or a pull request creation cap excludes the caller.
    """
    check_archived(repo)
    issue_rules.check_title(body["title"], "PullRequest")
    author_id = ctx.required_caller.account_id
    check_interaction(ctx.db, repo, author_id)
    ends = _ends(ctx, repo, body)
    check_pull_request_cap(ctx.db, repo, author_id)
    fields = {
        "title": body["title"],
        "body": body.get("body"),
        "author_association": author_association.association_of(ctx.db, repo, author_id),
    }
    row = pull_changes.create(ctx.db, repo, author_id, fields, ends)
    row = issue_change_events.emit(ctx, repo, row["id"], [IssueChange("opened")])
    (shown,) = pull_serializers.for_caller(ctx, repo, [row])
    return shown


@ops(
    "PATCH /repos/{owner}/{repo}/pulls/{pull_number}",
    CHANGE,
    emits=("pull_request.edited", "pull_request.closed", "pull_request.reopened"),
    **FORMS,
)
def update(ctx: Context, repo: Row, pull: Row, body: PullRequestEdit) -> PullRequest:
    """Update a pull request

    Title, text and state. 422 for another base: a platform decides about branches. 422 if it is
    reopened while another one of the same branches is open. 403 if a pull request creation cap
    excludes the author who reopens it.
    """
    row = issue_rules.opened(ctx, repo, pull)
    _check_base(ctx, row, body)
    changes = _edit(ctx, repo, row, body)
    changes += change_state(ctx, repo, row, body)
    row = issue_change_events.emit(ctx, repo, row["id"], changes)
    (shown,) = pull_serializers.for_caller(ctx, repo, [row])
    return shown


def _edit(ctx: Context, repo: Row, row: Row, body: PullRequestEdit) -> list[IssueChange]:
    """Change the title, the text, and `maintainer_can_modify`. Return them as one change."""
    changes = change_texts(ctx, repo, row, body)
    if "maintainer_can_modify" in body:
        allowed = body["maintainer_can_modify"]
        changes += pull_changes.set_maintainer_can_modify(ctx.db, row, allowed)
    before = {name: value for one in changes for name, value in one.before.items()}
    return [IssueChange("edited", before=before)] if before else []


def _check_base(ctx: Context, row: Row, body: PullRequestEdit) -> None:
    if "base" in body:
        known = pulls.of_issues(ctx.db, [row["id"]]).get(row["id"], {}).get("base_ref")
        if body["base"] != known:
            raise _wrong("The base of a pull request cannot be changed here.", "base", "invalid")


def _ends(ctx: Context, repo: Row, body: NewPullRequest) -> Row:
    """Return the columns of the head and the base. Raises Invalid if they cannot be merged."""
    source, branch = _source(ctx, repo, body)
    head, base = _sha(ctx, source, branch, "head"), _sha(ctx, repo, body["base"], "base")
    if head == base:
        raise _wrong(f"No commits between {body['base']} and {body['head']}", "head", "custom")
    check_no_other_open(ctx, repo, (source["full_name"], branch), body["base"], "head")
    return {
        "head_ref": branch,
        "head_sha": head,
        "head_repo": source["full_name"],
        "base_ref": body["base"],
        "base_sha": base,
        "draft": int(body.get("draft", False)),
        "details": pull_changes.details(
            maintainer_can_modify=body.get("maintainer_can_modify", True)
        ),
    }


def _source(ctx: Context, repo: Row, body: NewPullRequest) -> tuple[Row, str]:
    """Return the repository and the branch of the head.

    Raises Invalid if the caller may not read the repository or it does not exist, and Forbidden if
    the caller may not write to it.
    """
    owner, colon, branch = body["head"].rpartition(":")
    name = body.get("head_repo", repo["name"])
    found = repositories.find(ctx.db, owner, name) if colon else repo
    if found is None or not _is_seen(ctx, repo, found):
        raise _wrong(f"there is no repository {owner}/{name}", "head", "invalid")
    if not issue_rules.may(ctx, found, "write"):
        raise Forbidden(f"Must have push access to {found['full_name']}.")
    return found, branch


def _is_seen(ctx: Context, repo: Row, source: Row) -> bool:
    # The access of the path has checked its own repository.
    return source["id"] == repo["id"] or may_read(ctx.db, ctx.caller, source, "contents")


def _sha(ctx: Context, repo: Row, branch: str, field: str) -> str:
    row = refs.get(ctx.db, repo["id"], HEADS + branch)
    if row is None:
        raise _wrong(f"{field} is not a branch of {repo['full_name']}", field, "invalid")
    return str(row["sha"])


def _wrong(message: str, field: str, code: str) -> Invalid:
    return Invalid(message, field=field, code=code, resource="PullRequest")
