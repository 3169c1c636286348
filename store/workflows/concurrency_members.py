"""Who holds a concurrency group and who waits for it: entering, acquiring, leaving.

A member is a run, one of its jobs, or a reusable workflow that a job of it calls (a lease that is
held for the run). It is in one group at a time.
"""

from dataclasses import dataclass

from store.database import upsert
from store.database.connection import Connection, Row, json_array

MOST_NAME = 400
MOST_MEMBERS = 1_000
"""Members of a group that are kept: who comes when so many are there is not."""
COLUMNS = "id, group_id, run_id, seat, job_id, path, waiting, since"
RUN = "run"


@dataclass(frozen=True, slots=True)
class GroupMember:
    """What of a run is in a group: the run itself, a job (`job_id`), or the workflow that is called
    by the job with the path `path`.
    """

    run_id: int
    job_id: int | None = None
    path: str | None = None

    @property
    def key(self) -> str:
        """What tells the run's seats apart."""
        if self.job_id is not None:
            return f"job {self.job_id}"
        return RUN if self.path is None else f"call {self.path}"


def key_of(name: str) -> bytes:
    """What a group's name is compared by: its case says nothing."""
    return name.lower().encode()


def group(db: Connection, repo_id: int, name: str) -> int:
    """The id of the repository's group of this name, which is made if there is none."""
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
    found: int | None = db.value(
        "SELECT id FROM concurrency_group WHERE repo_id = :repo_id AND name_key = :key",
        repo_id=repo_id,
        key=key,
    )
    return found


def use(db: Connection, run: Row, name: str) -> int:
    """Let the run's configuration name a group; the group's id."""
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
    """The member that has this seat."""
    return db.one(
        f"SELECT {COLUMNS} FROM concurrency_member WHERE run_id = :run_id AND seat = :key",
        run_id=run_id,
        key=key,
    )


def enter(
    db: Connection, run: Row, seat: GroupMember, name: str, *, holds: bool, since: int
) -> None:
    """Let what has this seat wait for a group or hold it, since then. Who holds it goes on to; who
    waits keeps its place.
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
    """Let what has this seat, if it waits for a group, hold it since then."""
    member = find_member(db, seat.run_id, seat.key)
    if member is not None:
        _acquire(db, member, since)


def _acquire(db: Connection, member: Row, since: int) -> None:
    if member["waiting"]:
        upsert.update(db, "concurrency_member", member, {"waiting": 0, "since": since})
        _note(db, member["group_id"], since)


def _note(db: Connection, group_id: int, since: int) -> None:
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
    """Let what has this seat be in no group."""
    member = find_member(db, seat.run_id, seat.key)
    if member is not None:
        _leave(db, [member])


def leave_all(db: Connection, run_id: int) -> None:
    """Let nothing of a run be in any group."""
    _leave(
        db,
        db.all(f"SELECT {COLUMNS} FROM concurrency_member WHERE run_id = :run_id", run_id=run_id),
    )


def _leave(db: Connection, members: list[Row]) -> None:
    db.execute(
        "DELETE FROM concurrency_member WHERE id IN"
        f" (SELECT id FROM {db.each('ids', id='integer')} AS w)",
        ids=json_array(member["id"] for member in members),
    )
    for member in members:
        _count(db, member["group_id"], -1)


def _count(db: Connection, group_id: int, by: int) -> None:
    """Let the group have one more, or one less, and the repository's active groups be counted."""
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
