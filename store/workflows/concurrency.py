"""Concurrency groups: one member at a time holds a group, and the others wait in its queue."""

from collections.abc import Sequence

from store.database import paging
from store.database.connection import Connection, Row, json_array
from store.workflows import workflow_jobs, workflow_runs
from store.workflows.concurrency_members import RUN, key_of

GROUP = "g.id, g.repo_id, g.name, g.name_key, g.members, g.last_acquired_at"
MEMBER = (
    "m.id, m.group_id, m.run_id, m.seat, m.job_id, m.path, m.waiting, r.number AS run_number,"
    " r.name AS run_name, j.number AS job_number, j.name AS job_name"
)
MEMBERS = (
    "concurrency_member m JOIN workflow_run r ON r.id = m.run_id"
    " LEFT JOIN workflow_job j ON j.id = m.job_id"
)
QUEUE = "m.waiting, m.since, m.id"
Key = bytes | None


def get(db: Connection, repo_id: int, name: str) -> Row | None:
    """Return the repository's group with this name, or None if it has no member."""
    return db.one(
        f"SELECT {GROUP} FROM concurrency_group g"
        " WHERE g.repo_id = :repo_id AND g.name_key = :key AND g.members > 0",
        repo_id=repo_id,
        key=key_of(name),
    )


def active(db: Connection, repo_id: int, *, limit: int, after: Key = None) -> list[Row]:
    """Return a repository's active groups by name, after the key `after`."""
    where, given = paging.conditions(
        {"g.repo_id = :repo_id": repo_id, "g.members > 0": True, "g.name_key > :after": after}
    )
    return db.all(
        f"SELECT {GROUP} FROM concurrency_group g WHERE {where} ORDER BY g.name_key LIMIT :limit",
        limit=limit,
        **given,
    )


def count_active(db: Connection, repo_id: int) -> int:
    found = db.optional_number(
        "SELECT active FROM concurrency_tally WHERE repo_id = :repo_id", repo_id=repo_id
    )
    return found or 0


def of_run(
    db: Connection, run_id: int, *, limit: int, before: Key = None, after: Key = None
) -> list[Row]:
    """Return the groups that a run's configuration names, by name.

    They follow the key `after`, or are the last ones up to the key `before`, inclusive.
    """
    where, given = paging.conditions(
        {
            "u.run_id = :run_id": run_id,
            "u.name_key > :after": after,
            "u.name_key <= :before": before,
        }
    )
    rows = db.all(
        f"SELECT {GROUP} FROM concurrency_use u JOIN concurrency_group g ON g.id = u.group_id"
        f" WHERE {where} ORDER BY u.name_key {'ASC' if before is None else 'DESC'} LIMIT :limit",
        limit=limit,
        **given,
    )
    return rows if before is None else rows[::-1]


def members(db: Connection, group_id: int) -> list[Row]:
    """Return a group's members in the order of its queue.

    Each has `waiting` (0 or 1), its run (`run_number`, `run_name`) and, if it is a job, its job
    (`job_number`, `job_name`).
    """
    return db.all(
        f"SELECT {MEMBER} FROM {MEMBERS} WHERE m.group_id = :group_id ORDER BY {QUEUE}",
        group_id=group_id,
    )


def own_members(db: Connection, run_id: int, group_ids: Sequence[int]) -> dict[int, list[Row]]:
    """Return group id to the run's own members in it, as `members` returns them.

    Each has its `position` in the queue: 0 for the holder, then 1, 2, ... Groups without any are
    left out.
    """
    ahead = (
        "SELECT count(*) FROM concurrency_member o WHERE o.group_id = m.group_id AND o.waiting = 1"
        " AND (o.since < m.since OR o.since = m.since AND o.id <= m.id)"
    )
    rows = db.all(
        f"SELECT {MEMBER}, CASE WHEN m.waiting = 0 THEN 0 ELSE ({ahead}) END AS position"
        f" FROM {MEMBERS} JOIN {db.each('groups', wanted='integer')} AS w"
        f" ON w.wanted = m.group_id WHERE m.run_id = :run_id ORDER BY {QUEUE}",
        groups=json_array(group_ids),
        run_id=run_id,
    )
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row["group_id"], []).append(row)
    return found


def ahead_of_run(db: Connection, group: Row, number: int) -> list[Row] | None:
    """Return the members ahead of a run, and the run last. None if it is not in the group.

    The run is there itself, or by a reusable workflow that it calls. Its own jobs do not count.
    """
    run = workflow_runs.get(db, group["repo_id"], number)
    if run is None:
        return None
    queue = [
        row
        for row in members(db, group["id"])
        if row["run_id"] != run["id"] or row["job_id"] is None
    ]
    own = [row for row in queue if row["run_id"] == run["id"]]
    return _up_to(queue, [row for row in own if row["seat"] == RUN] or own)


def ahead_of_job(db: Connection, group: Row, number: int) -> list[Row] | None:
    """Return the members ahead of a job, and the job last. None if it is not in the group.

    The job is there itself, or by a reusable workflow that it belongs to at any depth.
    """
    job = workflow_jobs.get(db, group["repo_id"], number)
    if job is None:
        return None
    queue = members(db, group["id"])
    own = [row for row in queue if row["job_id"] == job["id"]]
    return _up_to(queue, own or [row for row in queue if _calls(row, job)])


def _calls(member: Row, job: Row) -> bool:
    if member["run_id"] != job["run_id"] or member["path"] is None:
        return False
    return str(job["path"]).startswith(member["path"] + workflow_jobs.DIVIDED)


def _up_to(queue: list[Row], own: list[Row]) -> list[Row] | None:
    # If there are several, the one that waits longest counts: only members ahead of it are waited
    # for.
    return queue[: queue.index(own[-1]) + 1] if own else None


def of_whole_run(db: Connection, run_id: int) -> list[Row]:
    """Return all memberships, configured groups and jobs of a run, for its state document."""
    return [
        *db.all(
            "SELECT group_id, seat, waiting, since FROM concurrency_member"
            " WHERE run_id = :run_id ORDER BY seat",
            run_id=run_id,
        ),
        *db.all(
            "SELECT group_id FROM concurrency_use WHERE run_id = :run_id ORDER BY name_key",
            run_id=run_id,
        ),
        *db.all(
            "SELECT number, name, path, status FROM workflow_job WHERE run_id = :run_id"
            " ORDER BY number",
            run_id=run_id,
        ),
    ]
