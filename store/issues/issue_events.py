"""Events of issues and pull requests, and their timelines, which also have comments."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Self

import orjson

from store.database import paging
from store.database.connection import Connection, Row, json_array, prefixed
from store.issues.issue_event_kinds import KINDS, NOT_LISTED, NOT_SHOWN

COLUMNS = "id, repo_id, issue_id, kind, actor_id, commit_id, subject_id, members, created_at"
STORED = (
    "repo_id, issue_id, kind, actor_id, commit_id, subject_id, members, created_at, listed, shown,"
    " digest, said_at"
)


def is_there(issue: Row) -> bool:
    """Return whether an issue was neither deleted nor moved to another repository.

    A row without these columns comes from a query that leaves such issues out.
    """
    return issue.get("deleted_at") is None and issue.get("moved_to") is None


@dataclass(slots=True)
class IssueEventData:
    """An event of an issue. `members` has JSON values; accounts in it are ids."""

    kind: str
    actor_id: int | None
    created_at: int
    members: Mapping[str, Any] = field(default_factory=dict)
    commit_id: str | None = None
    subject_id: int | None = None
    said_at: int | None = None
    """The platform's time, which can be later than `created_at`, or None."""

    @classmethod
    def reported(
        cls,
        kind: str,
        said_at: int | None,
        event: Row,
        members: Mapping[str, Any] | None = None,
        commit_id: str | None = None,
    ) -> Self:
        """Return an event of a platform. `said_at` is the platform's time, or None.

        It is from its reception at the latest. So if a clock is fast, an event that arrives twice
        has two times here, and only the platform's time shows that it is the same.
        """
        received: int = event["received_at"]
        at = received if said_at is None else min(said_at, received)
        return cls(kind, event["sender_id"], at, members or {}, commit_id, said_at=said_at)

    def __post_init__(self) -> None:
        assert self.kind in KINDS, self.kind

    def row(self, issue: Row) -> tuple[Any, ...]:
        """Return the values of the columns in STORED. No list has events of an issue that is gone.

        They may come after its deletion or its move.
        """
        there = is_there(issue)
        members = orjson.dumps(self.members, option=orjson.OPT_SORT_KEYS)
        about = f"{self.actor_id} {self.commit_id} {self.subject_id} ".encode()
        return (
            issue["repo_id"],
            issue["id"],
            self.kind,
            self.actor_id,
            self.commit_id,
            self.subject_id,
            members.decode(),
            self.created_at,
            int(there and self.kind not in NOT_LISTED),
            int(there and self.kind not in NOT_SHOWN),
            blake2b(about + members, digest_size=12).hexdigest(),
            self.said_at,
        )


def add(db: Connection, issue: Row, happenings: Iterable[IssueEventData]) -> int:
    """Store events of an issue. Return how many are new."""
    return add_all(db, ((issue, one) for one in happenings))


def add_all(db: Connection, happenings: Iterable[tuple[Row, IssueEventData]]) -> int:
    """Store events, each with its issue. Return how many are new."""
    rows = [one.row(issue) for issue, one in happenings]
    if not rows:
        return 0
    return len(db.insert_many("issue_event", STORED, rows, "ON CONFLICT DO NOTHING RETURNING id"))


def get(db: Connection, repo_id: int, event_id: int) -> Row | None:
    """Return the event with this id, or None, also if it is in timelines only.

    If its issue is gone, `deleted_at` is set.
    """
    columns = prefixed("e", COLUMNS)
    row = db.one(
        f"SELECT {columns}, coalesce(i.deleted_at, CASE WHEN i.moved_to IS NOT NULL"
        " THEN e.created_at END) AS deleted_at"
        " FROM issue_event e JOIN issue i ON i.id = e.issue_id"
        " WHERE e.id = :id AND e.repo_id = :repo_id",
        id=event_id,
        repo_id=repo_id,
    )
    return None if row is None or row["kind"] in NOT_LISTED else _opened(row)


def of_repository(db: Connection, repo_id: int, *, limit: int, offset: int) -> list[Row]:
    """Return the events of a repository's issues, newest first."""
    return _page(db, "repo_id = :of AND listed = 1", "DESC", limit, offset, of=repo_id)


def of_issue(db: Connection, issue_id: int, *, limit: int, offset: int) -> list[Row]:
    """Return an issue's events, oldest first."""
    return _page(db, "issue_id = :of AND listed = 1", "ASC", limit, offset, of=issue_id)


def timeline(
    db: Connection, issue_id: int, *, limit: int, offset: int, but: Collection[str] = ()
) -> list[Row]:
    """Return an issue's timeline, oldest first, without the kinds in `but`."""
    where, given = _where(db, issue_id, but)
    return _page(db, where, "ASC", limit, offset, **given)


def count_of_repository(db: Connection, repo_id: int, most: int) -> int:
    """Return how many events a repository's issues have, counted up to `most`."""
    return _count(db, "repo_id = :of AND listed = 1", most, of=repo_id)


def count_of_issue(db: Connection, issue_id: int, most: int) -> int:
    """Return how many events an issue has, counted up to `most`."""
    return _count(db, "issue_id = :of AND listed = 1", most, of=issue_id)


def count_timeline(db: Connection, issue_id: int, most: int, *, but: Collection[str] = ()) -> int:
    """Return the length of an issue's timeline without the kinds in `but`, counted up to `most`."""
    where, given = _where(db, issue_id, but)
    return _count(db, where, most, **given)


def _where(db: Connection, issue_id: int, but: Collection[str]) -> tuple[str, Row]:
    where = "issue_id = :of AND shown = 1"
    if not but:
        return where, {"of": issue_id}
    given = {"of": issue_id, "but": json_array(but)}
    return f"{where} AND kind NOT {db.among('but', 'text')}", given


def _page(
    db: Connection, where: str, order: str, limit: int, offset: int, **given: Any
) -> list[Row]:
    rows = paging.page(
        db,
        f"SELECT {COLUMNS} FROM issue_event WHERE {where} ORDER BY created_at {order}, id {order}",
        limit,
        offset,
        **given,
    )
    return [_opened(row) for row in rows]


def _opened(row: Row) -> Row:
    return row | {"members": orjson.loads(row["members"])}


def _count(db: Connection, where: str, most: int, **given: Any) -> int:
    return paging.count(db, f"SELECT id FROM issue_event WHERE {where}", most, **given)


def last(db: Connection, issue_id: int, kinds: Collection[str]) -> str | None:
    """Return the last of these kinds among an issue's events, or None."""
    found: str | None = db.value(
        "SELECT kind FROM issue_event WHERE issue_id = :issue_id"
        f" AND kind {db.among('kinds', 'text')}"
        " ORDER BY created_at DESC, id DESC LIMIT 1",
        issue_id=issue_id,
        kinds=json_array(kinds),
    )
    return found


def of_kind(db: Connection, issue_id: int, kind: str) -> list[Row]:
    """Return the events of an issue with this kind."""
    rows = db.all(
        f"SELECT {COLUMNS} FROM issue_event WHERE issue_id = :issue_id AND kind = :kind",
        issue_id=issue_id,
        kind=kind,
    )
    return [_opened(row) for row in rows]


def forget(db: Connection, kind: str, subject_id: int) -> None:
    """Delete the events of this kind about a deleted subject."""
    db.delete("issue_event", subject_id=subject_id, kind=kind)


def hide(db: Connection, issue_id: int) -> None:
    """Remove the events of a deleted or moved issue from all lists."""
    db.execute(
        "UPDATE issue_event SET listed = 0, shown = 0 WHERE issue_id = :issue_id",
        issue_id=issue_id,
    )
