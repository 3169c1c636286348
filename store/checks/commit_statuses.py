"""Commit statuses: what others say about a commit, by context. The newest of a context counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from store.accounts import placeholder_accounts
from store.database import external_ids, paging, payload_reader, upsert
from store.database.connection import Connection, Row, json_array
from store.errors import Invalid
from store.repositories import refs

COLUMNS = (
    "s.id, s.repo_id, s.number, s.sha, s.context, s.state, s.description, s.target_url,"
    " s.creator_id, s.created_at, s.updated_at"
)
STATES = ("error", "failure", "pending", "success")
MOST = 1_000
"""The limit of statuses of one context on one commit."""
FEW = 200
"""The limit of contexts that are found one by one, whatever number of statuses they have."""
TIMES = ("created_at", "updated_at")
FIELDS: payload_reader.Readers = {
    "context": payload_reader.text(255, 1),
    "state": payload_reader.one_of(*STATES),
    "description": payload_reader.nullable(payload_reader.text(1_000)),
    "target_url": payload_reader.nullable(payload_reader.text(2_048)),
    **dict.fromkeys(TIMES, payload_reader.timestamp),
}


def create(
    db: Connection, repo_id: int, sha: str, creator_id: int, fields: Mapping[str, Any]
) -> Row:
    """Create a status of a commit. `fields` has `state`, `context`, and other columns.

    Raises Invalid if the context has the most statuses on this commit that it can have.
    """
    key = fields["context"].lower()
    db.alone(f"statuses of {sha}")
    total, newest_at = _of_context(db, repo_id, sha, key)
    if total >= MOST:
        raise Invalid(
            f"This SHA and context has reached the maximum number of statuses ({MOST:,}).",
            field="context",
            resource="Status",
        )
    # A platform with a fast clock may have reported one. The newest status counts.
    now = max(db.now, newest_at)
    values = {
        "repo_id": repo_id,
        "sha": sha,
        "context_key": key,
        "creator_id": creator_id,
        "created_at": now,
        "updated_at": now,
        **fields,
    }
    made = external_ids.insert_with_own_id(db, "commit_status", values, "id")
    return db.required(f"SELECT {COLUMNS} FROM commit_status s WHERE s.id = :id", id=made)


def _of_context(db: Connection, repo_id: int, sha: str, key: str) -> tuple[int, int]:
    """Return how many statuses a context has, and the time of the newest one, or 0."""
    ((total, newest_at),) = db.tuples(
        "SELECT count(*), coalesce(max(created_at), 0) FROM commit_status"
        " WHERE repo_id = :repo_id AND sha = :sha AND context_key = :key",
        repo_id=repo_id,
        sha=sha,
        key=key,
    )
    return total, newest_at


def page(db: Connection, repo_id: int, sha: str, *, limit: int, offset: int) -> list[Row]:
    """Return a page of a commit's statuses, the newest first."""
    where = "s.repo_id = :repo_id AND s.sha = :sha"
    return _page(db, where, limit, offset, repo_id=repo_id, sha=sha)


@dataclass(frozen=True, slots=True)
class NewestStatuses:
    """The newest status of each context of a commit, as an SQL condition on a status `s`."""

    condition: str
    given: Mapping[str, Any]


def newest_of_contexts(db: Connection, repo_id: int, sha: str) -> NewestStatuses:
    """Return the newest status of each context.

    If the contexts are FEW, no other status is read.
    """
    given = {"repo_id": repo_id, "sha": sha}
    ids = db.column(NEWEST_OF_FEW, few=FEW, **given)
    if len(ids) > FEW:
        return NewestStatuses(NEWEST, given)
    condition = f"s.id {db.among('ids')}"
    return NewestStatuses(condition, {"ids": json_array(ids)})


_OF_COMMIT = "FROM commit_status n WHERE n.repo_id = :repo_id AND n.sha = :sha"
# The index leads from one context to the next, and to the newest status of each.
NEWEST_OF_FEW = (
    "WITH RECURSIVE w (context_key, step) AS ("
    f" SELECT (SELECT min(n.context_key) {_OF_COMMIT}), 1"
    f" UNION ALL SELECT (SELECT min(n.context_key) {_OF_COMMIT} AND n.context_key > w.context_key),"
    " w.step + 1 FROM w WHERE w.context_key IS NOT NULL AND w.step <= :few)"
    f" SELECT (SELECT n.id {_OF_COMMIT} AND n.context_key = w.context_key"
    " ORDER BY n.created_at DESC, n.id DESC LIMIT 1) FROM w WHERE w.context_key IS NOT NULL"
)
NEWEST = (
    "s.repo_id = :repo_id AND s.sha = :sha AND s.id = (SELECT n.id FROM commit_status n"
    " WHERE n.repo_id = s.repo_id AND n.sha = s.sha AND n.context_key = s.context_key"
    " ORDER BY n.created_at DESC, n.id DESC LIMIT 1)"
)


def latest(db: Connection, chosen: NewestStatuses, *, limit: int, offset: int) -> list[Row]:
    """Return a page of these statuses, the newest first."""
    return _page(db, chosen.condition, limit, offset, **chosen.given)


def newest(db: Connection, repo_id: int, sha: str, context: str) -> Row | None:
    """Return the newest status of a context, in any case, on a commit. Return None without one."""
    return db.one(
        f"SELECT {COLUMNS} FROM commit_status s WHERE s.repo_id = :repo_id AND s.sha = :sha"
        " AND s.context_key = :key ORDER BY s.created_at DESC, s.id DESC LIMIT 1",
        repo_id=repo_id,
        sha=sha,
        key=context.lower(),
    )


def _page(db: Connection, where: str, limit: int, offset: int, **given: Any) -> list[Row]:
    return paging.page(
        db,
        f"SELECT {COLUMNS} FROM commit_status s WHERE {where}"
        " ORDER BY s.created_at DESC, s.id DESC",
        limit,
        offset,
        **given,
    )


def count(db: Connection, repo_id: int, sha: str, most: int) -> int:
    """Return how many statuses a commit has, counted up to `most`."""
    return paging.count(
        db,
        "SELECT id FROM commit_status WHERE repo_id = :repo_id AND sha = :sha",
        most,
        repo_id=repo_id,
        sha=sha,
    )


def states(db: Connection, chosen: NewestStatuses) -> dict[str, int]:
    """Return how many of these statuses have each state."""
    return db.mapping(
        f"SELECT s.state, count(*) FROM commit_status s WHERE {chosen.condition} GROUP BY s.state",
        **chosen.given,
    )


def combined(counted: Mapping[str, int]) -> str:
    """Return the state of a commit with these `states`: failure, pending or success."""
    if counted.keys() & {"error", "failure"}:
        return "failure"
    return "success" if counted.keys() == {"success"} else "pending"


def project(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Project a `status` event. A status is never changed, so a known one stays as it is."""
    number = payload_reader.read_field(payload, "id", payload_reader.number)
    sha = payload_reader.read_field(payload, "sha", payload_reader.text(64))
    fields: Row = payload_reader.read_fields(payload, FIELDS)
    fields = {"context": "default", **fields}
    if number is None or sha is None or not refs.SHA.fullmatch(sha) or "state" not in fields:
        return
    sender_id = placeholder_accounts.get_or_create(db, payload.get("sender"))
    values = {
        "repo_id": repo["id"],
        "number": number,
        "sha": sha,
        "context_key": fields["context"].lower(),
        "creator_id": sender_id,
        "created_at": event["received_at"],
        "updated_at": event["received_at"],
        # The newest status counts.
        **upsert.believed(db, fields, *TIMES),
    }
    upsert.insert_if_absent(db, "commit_status", values, "repo_id, number")
