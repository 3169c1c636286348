"""Runs that deliver once more what came in: what each is of, and how far it has come."""

from dataclasses import asdict
from typing import Any

from store import jobs, selection
from store.connection import Connection, Row, listed
from store.errors import Invalid, Missing
from store.runs import Runs
from store.selection import Selection

COLUMNS = (
    "id, since, until, repo_id, hook_id, event, failed, first_id, last_id, after_id, total, made,"
    " moves, asked_by, created_at, started_at, moved_at, ended_at, outcome"
)
NAMED = (
    f"SELECT {', '.join(f'x.{name}' for name in COLUMNS.split(', '))},"
    " a.login || '/' || r.name AS repository, h.url FROM replaying x"
    " LEFT JOIN repository r ON r.id = x.repo_id LEFT JOIN account a ON a.id = r.owner_id"
    " LEFT JOIN hook h ON h.id = x.hook_id"
)
# Runs that are not over of one who asked: more are begun when these are.
MOST_OPEN = 20
RUNS = Runs("replaying", COLUMNS, turns="moved_at, id", noun="replay", cut_off="cancelled")


def chosen_of(run: Row) -> Selection:
    """What a run is of."""
    return Selection(
        run["since"],
        run["until"],
        run["repo_id"],
        run["hook_id"],
        run["event"],
        bool(run["failed"]),
    )


def ask(db: Connection, chosen: Selection, asked_by: str) -> Row:
    """Have a selection delivered by the worker; returns the run. Of what comes in from now on
    nothing is part of it. Invalid where the same person has too many under way.
    """
    _check_open(db, asked_by)
    after, until = selection.extent(db, chosen)
    many, behind = selection.count(db, chosen, after, until)
    row = db.one(
        "INSERT INTO replaying (since, until, repo_id, hook_id, event, failed, first_id,"
        " last_id, after_id, total, asked_by, created_at) VALUES (:since, :until, :repo_id,"
        " :hook_id, :event, :failed, :after, :last, :after, :total, :asked_by, :now)"
        f" RETURNING {COLUMNS}",
        **asdict(chosen) | {"failed": int(chosen.failed)},
        after=after,
        last=until,
        total=None if behind else many,
        asked_by=asked_by,
        now=db.now,
    )
    assert row is not None, "it was just made"
    jobs.wake(db)
    return row


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
    """The run with this id, with its `repository` and its hook's `url`. Missing."""
    row = db.one(f"{NAMED} WHERE x.id = :id", id=run_id)
    if row is None:
        raise Missing("replay")
    return row


def page(
    db: Connection, *, limit: int, before: int | None = None, repo_ids: list[int] | None = None
) -> list[Row]:
    """The runs of these repositories, or all, the newest first, as `get` gives them."""
    where = ["x.id < :before"] if before is not None else []
    given: dict[str, Any] = {} if before is None else {"before": before}
    if repo_ids is not None:
        where += [f"x.repo_id IN (SELECT id FROM {db.each('repos', id='integer')} AS w)"]
        given["repos"] = listed(repo_ids)
    return db.all(
        f"{NAMED}{' WHERE ' + ' AND '.join(where) if where else ''}"
        " ORDER BY x.id DESC LIMIT :limit",
        limit=limit,
        **given,
    )


def step(db: Connection, run: Row, limit: int) -> tuple[Row, int]:
    """Make the next `limit` deliveries of a run, or a few more; the run, which may be over now, and
    how many were made. Overtaken where it is no longer where it was.
    """
    # First: where another worker has the run, nothing is done that would have to be undone.
    run = RUNS.move(db, run)
    made, after = selection.deliver(db, chosen_of(run), run["after_id"], run["last_id"], limit)
    row = db.one(
        "UPDATE replaying SET made = made + :made, after_id = :after, ended_at = :ended_at,"
        f" outcome = :outcome WHERE id = :id RETURNING {COLUMNS}",
        made=made,
        after=after or run["last_id"],
        ended_at=None if after else db.now,
        outcome=None if after else "done",
        id=run["id"],
    )
    assert row is not None, "it has just moved"
    return row, made


def cancel(db: Connection, run_id: int) -> Row:
    """End a run before it is through: what it has made stays. Missing for one that there is not,
    Invalid for one that is over.
    """
    was_open = RUNS.cut(db, run_id)
    run = get(db, run_id)
    if not was_open:
        raise Invalid(f"replay {run_id} is over", field="replay", code="custom", resource="Replay")
    return run


def share(run: Row) -> float:
    """How much of a run is done, from 0 to 1: by its deliveries where they were counted, else by
    the events that it has gone through.
    """
    if run["outcome"] == "done":
        return 1.0
    if run["total"]:
        return float(min(1.0, run["made"] / run["total"]))
    way = run["last_id"] - run["first_id"]
    return float(run["after_id"] - run["first_id"]) / way if way > 0 else 0.0
