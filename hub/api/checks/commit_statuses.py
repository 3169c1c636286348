"""Commit statuses: what others say about a commit, by context."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired

from annotated_types import MaxLen, MinLen
from pydantic import Field
from typing_extensions import TypedDict

from hub.api.repositories import commit_serializers
from hub.auth.repository_access import on_repo
from hub.rest import commit_lookup
from hub.rest.context import Context
from hub.rest.event_payloads import sent_by
from hub.rest.group import OperationGroup
from hub.rest.interaction_check import check_archived
from hub.rest.paging import NumberedPaging
from hub.rest.repository_serializers import MinimalRepository, repository
from hub.rest.resolve import text
from hub.rest.serializers import SimpleUser, row_serializer, simple_users
from hub.rest.urls import Urls
from hub.rest.validation import Text
from store import Connection, Row
from store.checks import commit_statuses
from store.delivery.outbox import SnapshotEvent
from store.errors import Invalid
from store.repositories import branch_protection, refs

ops = OperationGroup("repos", sha=text, ref=text)

READ = on_repo("statuses", "read", scopes=("repo:status", "repo")).or_anyone()
WRITE = on_repo(
    "statuses",
    "write",
    role="write",
    scopes=("repo:status", "repo"),
    public_scopes=("public_repo",),
)

State = Literal["error", "failure", "pending", "success"]
TargetUrl = Annotated[Text, MaxLen(2_048), Field(pattern=r"^https?://")]
MOST_BRANCHES = 10


class NewStatus(TypedDict):
    """A statement about a commit. `context` names who makes it."""

    state: State
    target_url: NotRequired[TargetUrl | None]
    description: NotRequired[Annotated[Text, MaxLen(140)] | None]
    context: NotRequired[Annotated[Text, MinLen(1), MaxLen(255)]]


class SimpleStatus(TypedDict):
    """The newest status of a context."""

    url: str
    avatar_url: str | None
    id: int
    node_id: str
    state: State
    description: str | None
    target_url: str | None
    context: str
    created_at: str
    updated_at: str


class Status(SimpleStatus):
    creator: SimpleUser | None


class CombinedStatus(TypedDict):
    """The newest status of each context, and the overall state.

    `state` is `failure` if any of them is an error or a failure, `success` if all are a success,
    and `pending` otherwise.
    """

    state: Literal["failure", "pending", "success"]
    sha: str
    total_count: int
    statuses: list[SimpleStatus]
    repository: MinimalRepository
    commit_url: str
    url: str


@ops(
    "POST /repos/{owner}/{repo}/statuses/{sha}",
    WRITE,
    status=201,
    emits=("status",),
    created=True,
)
def create_commit_status(ctx: Context, repo: Row, sha: str, body: NewStatus) -> Status:
    """Create a commit status

    The commit is given by its full SHA, a branch or a tag. A context can have 1,000 statuses on one
    commit.
    """
    check_archived(repo)
    commit = commit_lookup.find_commit(ctx.db, repo, sha)
    _check(body)
    fields = {
        "state": body["state"],
        "target_url": body.get("target_url"),
        "description": body.get("description"),
        "context": body.get("context", "default"),
    }
    row = commit_statuses.create(ctx.db, repo["id"], commit, ctx.required_caller.account_id, fields)
    (shown,) = statuses(ctx.urls, ctx.db, repo, [row])
    ctx.emit("status", repo, **_payload(ctx.urls, ctx.db, repo, row, shown))
    return shown


@ops(
    "GET /repos/{owner}/{repo}/commits/{ref}/statuses",
    READ,
    errors=(422,),
    old_path="/repos/{owner}/{repo}/statuses/{ref}",
)
def list_commit_statuses_for_ref(
    ctx: Context, repo: Row, ref: str, page: NumberedPaging
) -> list[Status]:
    """List commit statuses for a reference

    The newest first. The commit is given by its full SHA, a branch or a tag. A GET of
    `/repos/{owner}/{repo}/statuses/{ref}` is the same.
    """
    sha = commit_lookup.find_commit(ctx.db, repo, ref)
    page.count(lambda most: commit_statuses.count(ctx.db, repo["id"], sha, most))
    rows = commit_statuses.page(ctx.db, repo["id"], sha, **page.bounds)
    return statuses(ctx.urls, ctx.db, repo, rows)


@ops("GET /repos/{owner}/{repo}/commits/{ref}/status", READ, errors=(422,))
def get_combined_status_for_ref(
    ctx: Context, repo: Row, ref: str, page: NumberedPaging
) -> CombinedStatus:
    """Get the combined status for a specific reference

    The newest status of each context. The commit is given by its full SHA, a branch or a tag.
    """
    sha = commit_lookup.find_commit(ctx.db, repo, ref)
    newest = commit_statuses.newest_of_contexts(ctx.db, repo["id"], sha)
    counted = commit_statuses.states(ctx.db, newest)
    page.total = sum(counted.values())
    rows = commit_statuses.latest(ctx.db, newest, **page.bounds)
    shown = statuses(ctx.urls, ctx.db, repo, rows)
    url = ctx.urls.commit(repo, sha)
    return {
        "state": commit_statuses.combined(counted),  # type: ignore[typeddict-item]  # one of three
        "sha": sha,
        "total_count": page.total,
        "statuses": [_simple(one) for one in shown],
        "repository": repository(ctx.urls, ctx.db, repo),
        "commit_url": url,
        "url": f"{url}/status",
    }


def _check(body: NewStatus) -> None:
    if "context" in body and not body["context"].strip():
        raise Invalid(
            "context can't be blank", field="context", code="missing_field", resource="Status"
        )


def statuses(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[Status]:
    """Serialize statuses of a repository's commits."""
    people = simple_users(urls, db, {row["creator_id"] for row in rows})
    return [_status(urls, repo, row, people.get(row["creator_id"])) for row in rows]


_serialize = row_serializer(Status, "url", "avatar_url", "id", "creator", kind="StatusContext")


def _status(urls: Urls, repo: Row, row: Row, creator: SimpleUser | None) -> Status:
    return _serialize(
        row,
        url=f"{urls.repository(repo)}/statuses/{row['sha']}",
        avatar_url=None if creator is None else creator["avatar_url"],
        id=row["number"],
        creator=creator,
    )


def _simple(status: Status) -> SimpleStatus:
    found: Any = {name: value for name, value in status.items() if name != "creator"}
    shown: SimpleStatus = found
    return shown


def _payload(urls: Urls, db: Connection, repo: Row, row: Row, shown: Status) -> dict[str, Any]:
    """Return the payload of a status event, with what other events have said about the commit."""
    members = ("id", "state", "description", "target_url", "context", "created_at", "updated_at")
    members_of: Any = shown
    return {
        **{name: members_of[name] for name in members},
        "sha": row["sha"],
        "name": repo["full_name"],
        "avatar_url": shown["avatar_url"],
        "commit": commit_serializers.event_commit(urls, db, repo, row["sha"], row["created_at"]),
        "branches": _branches(urls, db, repo, row["sha"]),
    }


def _branches(urls: Urls, db: Connection, repo: Row, sha: str) -> list[dict[str, Any]]:
    """Serialize branches at a commit. A commit can be at thousands, and platforms report ten."""
    patterns = branch_protection.patterns(db, repo["id"])
    at = {"sha": sha, "url": urls.commit(repo, sha)}
    return [
        {"name": name, "commit": at, "protected": branch_protection.protects(patterns, name)}
        for name in refs.branches_at(db, repo["id"], sha, MOST_BRANCHES)
    ]


def _snapshot(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    shown = statuses(urls, db, repo, rows)
    return [
        SnapshotEvent(
            "status",
            repo["id"],
            _payload(urls, db, repo, row, one) | sent_by(one["creator"]),
        )
        for row, one in zip(rows, shown, strict=True)
    ]


ops.declare_snapshots(commit_status=_snapshot)
