"""Replays: runs that deliver selected events once more, and their progress."""

import json
from dataclasses import asdict

from store.database.connection import Connection, Row, json_array
from store.database.list_order import Matches
from store.database.newest_rows import NewestRows
from store.database.time_range import ALWAYS, TimeRange
from store.delivery.replays import replay_deliveries, replay_selection
from store.delivery.replays.replay_selection import ReplaySelection
from store.errors import Invalid, existing
from store.jobs import jobs
from store.jobs.runs import RunTable

COLUMNS = (
    "id, since, until, repo_id, hook_id, hook_ids, event, failed, first_id, last_id, after_id,"
    " total, made, moves, asked_by, created_at, started_at, moved_at, ended_at, outcome"
)
NAMED = (
    f"SELECT {', '.join(f'x.{name}' for name in COLUMNS.split(', '))},"
    " a.login || '/' || r.name AS repository, h.url FROM replaying x"
    " LEFT JOIN repository r ON r.id = x.repo_id LEFT JOIN account a ON a.id = r.owner_id"
    " LEFT JOIN hook h ON h.id = x.hook_id"
)
# The limit of unfinished replays of one person.
MOST_OPEN = 20
RUNS = RunTable(
    "replaying", COLUMNS, turns="moved_at, id", noun="replay", cancelled_outcome="cancelled"
)


def selection_of(run: Row) -> ReplaySelection:
    return ReplaySelection(
        run["since"],
        run["until"],
        run["repo_id"],
        run["hook_id"],
        run["event"],
        bool(run["failed"]),
        None if run["hook_ids"] is None else tuple(json.loads(run["hook_ids"])),
    )


def start(db: Connection, chosen: ReplaySelection, asked_by: str) -> Row:
    """Return this person's unfinished replay of a selection, or else a new one, as `create`."""
    _alone(db, asked_by)
    return _find_open(db, chosen, asked_by) or create(db, chosen, asked_by)


def _alone(db: Connection, asked_by: str) -> None:
    """Lock the person's replays until the transaction ends.

    Without the lock, a replay that is started twice at the same time would deliver twice.
    """
    db.alone(f"replays of {asked_by}")


def create(db: Connection, chosen: ReplaySelection, asked_by: str) -> Row:
    """Create a replay, which the worker will run. Return it.

    It includes no event received from now on. Raises Invalid if the same person has too many
    unfinished replays.
    """
    _alone(db, asked_by)
    _check_open(db, asked_by)
    after, until = replay_selection.id_range(db, chosen)
    many, behind = replay_selection.count(db, chosen, after, until)
    row = db.required(
        "INSERT INTO replaying (since, until, repo_id, hook_id, hook_ids, event, failed, first_id,"
        " last_id, after_id, total, asked_by, created_at) VALUES (:since, :until, :repo_id,"
        " :hook_id, :hook_ids, :event, :failed, :after, :last, :after, :total, :asked_by, :now)"
        f" RETURNING {COLUMNS}",
        **asdict(chosen)
        | {
            "failed": int(chosen.failed),
            "hook_ids": None if chosen.hook_ids is None else json_array(chosen.hook_ids),
        },
        after=after,
        last=until,
        total=None if behind else many,
        asked_by=asked_by,
    )
    jobs.notify_worker(db)
    return row


def _find_open(db: Connection, chosen: ReplaySelection, asked_by: str) -> Row | None:
    rows = db.all(
        f"SELECT {COLUMNS} FROM replaying WHERE ended_at IS NULL AND asked_by = :asked_by"
        " ORDER BY id LIMIT :most",
        asked_by=asked_by,
        most=MOST_OPEN,
    )
    return next((row for row in rows if selection_of(row) == chosen), None)


def _check_open(db: Connection, asked_by: str) -> None:
    many = db.value(
        "SELECT count(*) FROM replaying WHERE ended_at IS NULL AND asked_by = :asked_by",
        asked_by=asked_by,
    )
    if many >= MOST_OPEN:
        raise Invalid(
            f"{many} of your replays are under way: wait for one to end, or cancel one",
            field="replay",
            code="custom",
            resource="Replay",
        )


def get(db: Connection, run_id: int) -> Row:
    """Return the replay with its `repository` and its hook's `url`. Raises Missing."""
    return existing(db.one(f"{NAMED} WHERE x.id = :id", id=run_id), "replay")


def page(
    db: Connection,
    *,
    limit: int,
    before: int | None = None,
    repo_ids: list[int] | None = None,
    times: TimeRange = ALWAYS,
) -> list[Row]:
    """Return replays, newest first, as `get` returns them: of these repositories, or all.

    `times` limits when they were requested.
    """
    return NewestRows(db, "replaying", times, before).in_repositories(repo_ids).page(NAMED, limit)


def count(db: Connection, repo_ids: list[int] | None, times: TimeRange) -> Matches:
    """Return the number of replays that `page` lists."""
    return NewestRows(db, "replaying", times).in_repositories(repo_ids).count()


def run_step(db: Connection, run: Row, limit: int) -> tuple[Row, int]:
    """Make about the next `limit` deliveries of a replay. Return the replay and how many were made.

    The replay may have ended with that. Raises StaleRun if another worker has moved the replay on,
    or if it was cancelled.
    """
    # This comes first: if another worker has the replay, there is nothing to undo.
    run = RUNS.move(db, run)
    made, after = replay_deliveries.create(
        db, selection_of(run), run["after_id"], run["last_id"], limit
    )
    row = db.required(
        "UPDATE replaying SET made = made + :made, after_id = :after, ended_at = :ended_at,"
        f" outcome = :outcome WHERE id = :id RETURNING {COLUMNS}",
        made=made,
        after=after or run["last_id"],
        ended_at=None if after else db.now,
        outcome=None if after else "done",
        id=run["id"],
    )
    return row, made


def cancel(db: Connection, run_id: int) -> Row:
    """Cancel a replay; the deliveries that it has made stay.

    Raises Missing if there is no such replay, and Invalid if it has ended.
    """
    was_open = RUNS.cut(db, run_id)
    run = get(db, run_id)
    if not was_open:
        raise Invalid(f"replay {run_id} is over", field="replay", code="custom", resource="Replay")
    return run


def progress(run: Row) -> float:
    """Return a replay's progress from 0 to 1.

    If its deliveries were counted, the progress is by deliveries, and else by events examined.
    """
    if run["outcome"] == "done":
        return 1.0
    if run["total"]:
        return float(min(1.0, run["made"] / run["total"]))
    way = run["last_id"] - run["first_id"]
    return float(run["after_id"] - run["first_id"]) / way if way > 0 else 0.0
