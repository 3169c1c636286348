"""Stored counts of a repository's runs by workflow, because lists of runs have their total."""

from store.database import paging, upsert
from store.database.connection import Connection, Row


def add(db: Connection, run: Row) -> None:
    """Count a run that was added."""
    _add(db, {_key(run): 1})


def move(db: Connection, run: Row, after: Row) -> None:
    """Count a run for another workflow, before its row changes. An event can report it later."""
    if _key(run) == _key(after):
        return
    # Another event of the run can have moved it since it was read.
    before = db.required(
        f"SELECT repo_id, workflow_number FROM workflow_run WHERE id = :id{db.for_change}",
        id=run["id"],
    )
    if _key(before) != _key(after):
        _add(db, {_key(before): -1, _key(after): 1})


def _add(db: Connection, changes: dict[tuple[int, int], int]) -> None:
    upsert.count_at_commit(db, "workflow_run_tally", "repo_id, workflow_number", "runs", changes)


def _key(run: Row) -> tuple[int, int]:
    return run["repo_id"], run["workflow_number"]


def total(db: Connection, repo_id: int, workflow_number: int | None) -> int:
    """Return how many runs a repository has, or one of its workflows."""
    where, given = paging.conditions(
        {"repo_id = :repo_id": repo_id, "workflow_number = :workflow": workflow_number}
    )
    return db.number(
        f"SELECT CAST(coalesce(sum(runs), 0) AS BIGINT) FROM workflow_run_tally WHERE {where}",
        **given,
    )
