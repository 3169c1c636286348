"""Members of concurrency groups: entering, acquiring, leaving.

A member is a run, one of its jobs, or a reusable workflow that one of its jobs calls. The run holds
the group for such a workflow. A member is in one group at a time.
"""

from dataclasses import dataclass

from store.clock import DAY
from store.database import upsert
from store.database.connection import Connection, Row

MOST_NAME = 400
MOST_MEMBERS = 1_000
"""The limit of members of a group. Further ones are not stored."""
COLUMNS = "id, group_id, run_id, seat, job_id, path, waiting, since"
RUN = "run"


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A possible member of a group: a run, one of its jobs (`job_id`), or the reusable workflow
    that the job with the path `path` calls.
    """

    run_id: int
    job_id: int | None = None
    path: str | None = None

    @property
    def key(self) -> str:
        """Return the key that distinguishes the members of a run."""
        if self.job_id is not None:
            return f"job {self.job_id}"
        return RUN if self.path is None else f"call {self.path}"


def key_of(name: str) -> bytes:
    """Return the key of a group's name, which ignores case."""
    return name.lower().encode()


def group(db: Connection, repo_id: int, name: str) -> int:
    """Return the id of the repository's group with this name. Create it if it is missing."""
    key = key_of(name)
    known = _group(db, repo_id, key)
    if known is not None:
        return known
    values = {"repo_id": repo_id, "name": name, "name_key": key}
    made = upsert.insert_if_absent(db, "concurrency_group", values, "repo_id, name_key")
    found = made or _group(db, repo_id, key)
    assert found is not None
    return found


def _group(db: Connection, repo_id: int, key: bytes) -> int | None:
    return db.optional_number(
        "SELECT id FROM concurrency_group WHERE repo_id = :repo_id AND name_key = :key",
        repo_id=repo_id,
        key=key,
    )


def use(db: Connection, run: Row, name: str) -> int:
    """Record that the run's configuration names a group. Return the group's id."""
    group_id = group(db, run["repo_id"], name)
    made = db.insert_many(
        "concurrency_use",
        "run_id, name_key, group_id",
        [(run["id"], key_of(name), group_id)],
        "ON CONFLICT (run_id, name_key) DO NOTHING RETURNING group_id",
    )
    if made:
        db.execute(
            "UPDATE workflow_run SET groups_named = groups_named + 1 WHERE id = :id", id=run["id"]
        )
    return group_id


def find_member(db: Connection, run_id: int, key: str) -> Row | None:
    """Return the run's member with this key, or None."""
    return db.find(f"SELECT {COLUMNS} FROM concurrency_member", run_id=run_id, seat=key)


def enter(
    db: Connection, run: Row, seat: GroupMember, name: str, *, holds: bool, since: int
) -> None:
    """Make a member wait for a group or hold it, since a time.

    A member that holds the group continues to hold it, and one that waits keeps its place.
    """
    group_id = use(db, run, name)
    before = find_member(db, seat.run_id, seat.key)
    if before is not None and before["group_id"] != group_id:
        _leave(db, [before])
        before = None
    if before is None:
        _insert(db, group_id, seat, holds=holds, since=since)
    elif holds:
        _acquire(db, before, since)


def acquire(db: Connection, seat: GroupMember, since: int) -> None:
    """Make a waiting member hold its group since a time."""
    member = find_member(db, seat.run_id, seat.key)
    if member is not None:
        _acquire(db, member, since)


def _acquire(db: Connection, member: Row, since: int) -> None:
    if member["waiting"]:
        upsert.update(db, "concurrency_member", member, {"waiting": 0, "since": since})
        _note(db, member["group_id"], since)


def _note(db: Connection, group_id: int, since: int) -> None:
    if since > db.now + DAY:
        # It comes from a wrong clock, and would stay the last one until then.
        return
    db.execute(
        "UPDATE concurrency_group SET last_acquired_at = :since"
        " WHERE id = :id AND coalesce(last_acquired_at, 0) < :since",
        id=group_id,
        since=since,
    )


def _insert(db: Connection, group_id: int, seat: GroupMember, *, holds: bool, since: int) -> None:
    members = db.value("SELECT members FROM concurrency_group WHERE id = :id", id=group_id)
    if members >= MOST_MEMBERS:
        return
    values = {
        "group_id": group_id,
        "run_id": seat.run_id,
        "seat": seat.key,
        "job_id": seat.job_id,
        "path": seat.path,
        "waiting": int(not holds),
        "since": since,
    }
    if upsert.insert_if_absent(db, "concurrency_member", values, "run_id, seat") is not None:
        _count(db, group_id, 1)
        if holds:
            _note(db, group_id, since)


def leave(db: Connection, seat: GroupMember) -> None:
    member = find_member(db, seat.run_id, seat.key)
    if member is not None:
        _leave(db, [member])


def leave_all(db: Connection, run_id: int) -> None:
    _leave(
        db,
        db.all(f"SELECT {COLUMNS} FROM concurrency_member WHERE run_id = :run_id", run_id=run_id),
    )


def _leave(db: Connection, members: list[Row]) -> None:
    db.delete_many("concurrency_member", "id", (member["id"] for member in members))
    for member in members:
        _count(db, member["group_id"], -1)


def _count(db: Connection, group_id: int, by: int) -> None:
    """Add to a group's number of members, and update the repository's number of active groups."""
    row = db.one(
        "UPDATE concurrency_group SET members = members + :by WHERE id = :id"
        " RETURNING repo_id, members",
        by=by,
        id=group_id,
    )
    if row is not None and row["members"] == max(by, 0):
        db.execute(
            "INSERT INTO concurrency_tally (repo_id, active) VALUES (:repo_id, :by)"
            " ON CONFLICT (repo_id) DO UPDATE SET active = concurrency_tally.active + :by",
            repo_id=row["repo_id"],
            by=by,
        )
