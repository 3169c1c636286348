"""Stored counts of a suite's check runs by kind, because a list of runs has its total."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from store.database import paging, upsert
from store.database.connection import Connection, Row, json_array


class CheckKind(NamedTuple):
    """The properties by which runs are counted. `conclusion` is empty if there is none."""

    latest: int
    status: str
    conclusion: str
    asked_again: int


def sort_of(row: Row) -> CheckKind:
    return CheckKind(row["latest"], row["status"], row["conclusion"] or "", row["asked_again"])


def count(db: Connection, suite_id: int, changes: Counter[CheckKind]) -> None:
    """Add to a suite's counts. Changes may be negative."""
    by_kind = {(suite_id, *sort): by for sort, by in changes.items()}
    keys = "suite_id, latest, status, conclusion, asked_again"
    upsert.add_counts(db, "check_tally", keys, "runs", by_kind)


def latest(db: Connection, suite_id: int) -> dict[CheckKind, int]:
    """Return the counts of the suite's runs that are the latest of their names."""
    rows = db.tuples(
        "SELECT latest, status, conclusion, asked_again, runs FROM check_tally"
        " WHERE suite_id = :suite_id AND latest = 1 AND runs > 0",
        suite_id=suite_id,
    )
    return {CheckKind(*row[:4]): row[4] for row in rows}


def newest(db: Connection, suite_ids: Iterable[int]) -> dict[int, int]:
    """Return suite id to its number of runs that are the latest of their names, if it has any."""
    return db.mapping(
        "SELECT t.suite_id, CAST(sum(t.runs) AS BIGINT)"
        f" FROM {db.each('suites', id='integer')} AS w"
        " JOIN check_tally t ON t.suite_id = w.id AND t.latest = 1 GROUP BY t.suite_id",
        suites=json_array(suite_ids),
    )


def total(
    db: Connection, suite_ids: Iterable[int], *, status: str | None, only_latest: bool
) -> int:
    where, given = paging.conditions({"t.status = :status": status, "t.latest = 1": only_latest})
    return db.number(
        f"SELECT CAST(coalesce(sum(t.runs), 0) AS BIGINT)"
        f" FROM {db.each('suites', id='integer')} AS w"
        f" JOIN check_tally t ON t.suite_id = w.id AND {where}",
        suites=json_array(suite_ids),
        **given,
    )
