"""Check runs: each is one check of a commit by an app, in the app's suite for that commit."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from store.checks import check_counts
from store.checks.check_counts import CheckKind, sort_of
from store.database import external_ids, paging, upsert
from store.database.connection import Connection, Row, json_array

MOST_OF_A_NAME = 1_000
"""The limit of runs with one name in a suite."""
COLUMNS = (
    "c.id, c.number, c.repo_id, c.suite_id, c.name, c.latest, c.status, c.conclusion,"
    " c.asked_again, c.external_id, c.details_url, c.started_at, c.completed_at, c.title,"
    " c.summary, c.content, c.images, c.actions, c.annotations, c.pulls, c.created_at,"
    " c.updated_at, s.number AS suite_number, s.head_sha, s.app_id, s.app_number,"
    " s.reflected, c.signed, s.signed AS suite_signed"
)
FROM = "FROM check_run c JOIN check_suite s ON s.id = c.suite_id"
SORT = "latest, status, conclusion, asked_again"
LISTS = ("images", "actions")


@dataclass(frozen=True, slots=True)
class CheckRunFilter:
    """A filter for the runs of suites."""

    name: str | None = None
    status: str | None = None
    only_latest: bool = True
    """Whether to select only the newest run of each name in a suite."""

    def where(self) -> tuple[str, Row]:
        """Return the SQL condition and its parameters."""
        return paging.conditions(
            {
                "c.name = :name": self.name,
                "c.status = :status": self.status,
                "c.latest = 1": self.only_latest,
            }
        )


def get(db: Connection, repo_id: int, number: int) -> Row | None:
    """Return the repository's run with this public id, or None.

    `images` and `actions` are lists. The suite's fields are `suite_number`, `head_sha`, `app_id`,
    `app_number`, `suite_signed`, and `reflected`: 1 if it comes from a platform.
    """
    return _read(
        db.one(
            f"SELECT {COLUMNS} {FROM} WHERE c.repo_id = :repo_id AND c.number = :number",
            repo_id=repo_id,
            number=number,
        )
    )


def by_id(db: Connection, run_id: int) -> Row | None:
    """Return the run with this id, or None."""
    return _read(db.one(f"SELECT {COLUMNS} {FROM} WHERE c.id = :id", id=run_id))


def _read(row: Row | None) -> Row | None:
    return None if row is None else decode_row(row)


def decode_row(row: Row) -> Row:
    """Decode the JSON columns of a row."""
    return row | {name: orjson.loads(row[name]) for name in LISTS}


def _kept(fields: Mapping[str, Any]) -> Row:
    lists = {name: orjson.dumps(fields[name]).decode() for name in LISTS if name in fields}
    return {**fields, **lists}


def newest(db: Connection, suite_id: int, name: str) -> Row | None:
    """Return the newest run with this name in a suite, or None."""
    return _read(
        db.one(
            f"SELECT {COLUMNS} {FROM} WHERE c.suite_id = :suite_id AND c.name = :name"
            " ORDER BY c.number DESC LIMIT 1",
            suite_id=suite_id,
            name=name,
        )
    )


def lock(db: Connection, suite_id: int) -> None:
    """Lock the runs of a suite until the transaction ends.

    The latest run and the counts depend on all of them.
    """
    db.alone(f"check suite {suite_id}")


def create(db: Connection, suite: Row, fields: Mapping[str, Any]) -> Row:
    """Create a run in a suite made here. `fields` has `name`, `status` and other columns.

    It is the latest of its name, and ends requests to run others with that name again. If there
    are more than MOST_OF_A_NAME, the oldest others are deleted.
    """
    lock(db, suite["id"])
    _answer(db, suite["id"], fields["name"])
    values = {
        "repo_id": suite["repo_id"],
        "suite_id": suite["id"],
        "created_at": db.now,
        "updated_at": db.now,
        **_kept(fields),
    }
    made = external_ids.insert_with_own_id(db, "check_run", values, "id")
    assert made is not None, "a new id is unique"
    return is_settled(db, made, None)


def update(db: Connection, run: Row, fields: Mapping[str, Any]) -> Row:
    """Update a run. A status or a conclusion also ends a request to run it again."""
    lock(db, run["suite_id"])
    row = by_id(db, run["id"])
    if row is None:
        return run
    ended = {"asked_again": 0} if fields.keys() & {"status", "conclusion"} else {}
    changed = {**_kept(fields), **ended, "updated_at": db.now}
    upsert.update(db, "check_run", _kept(row), changed)
    return is_settled(db, run["id"], row)


def remove(db: Connection, run: Row) -> None:
    """Delete a run. The one before it with its name becomes the latest."""
    lock(db, run["suite_id"])
    changes = Counter[CheckKind]()
    for row in db.all(f"DELETE FROM check_run WHERE id = :id RETURNING name, {SORT}", id=run["id"]):
        changes[sort_of(row)] -= 1
        _mark_latest(db, run["suite_id"], row["name"], changes)
    check_counts.count(db, run["suite_id"], changes)


def ask_again(db: Connection, run: Row) -> None:
    """Record a request to run it again.

    The suite is queued until the run gets a status or a conclusion.
    """
    lock(db, run["suite_id"])
    row = by_id(db, run["id"])
    if row is not None:
        upsert.update(db, "check_run", row, {"asked_again": 1})
        is_settled(db, run["id"], row)


def _answer(db: Connection, suite_id: int, name: str) -> None:
    """End the requests to run the suite's runs with this name again."""
    rows = db.all(
        "UPDATE check_run SET asked_again = 0 WHERE suite_id = :suite_id AND name = :name"
        f" AND asked_again = 1 RETURNING {SORT}",
        suite_id=suite_id,
        name=name,
    )
    changes = Counter(sort_of(row) for row in rows)
    changes.subtract(sort_of({**row, "asked_again": 1}) for row in rows)
    check_counts.count(db, suite_id, changes)


def is_settled(db: Connection, run_id: int, before: Row | None) -> Row:
    """Update the latest marks and the counts after a change of a run. Return the run.

    `before` is the run before the change, or None. Its former name is updated, too.
    """
    row = by_id(db, run_id)
    assert row is not None, "the suite is locked"
    changes = Counter({sort_of(row): 1})
    names = {row["name"]}
    if before is not None:
        changes.subtract([sort_of(before)])
        names.add(before["name"])
    for name in names:
        _mark_latest(db, row["suite_id"], name, changes)
        _trim(db, row, name, changes)
    check_counts.count(db, row["suite_id"], changes)
    settled = by_id(db, run_id)
    assert settled is not None, "it is not trimmed"
    return settled


def _mark_latest(db: Connection, suite_id: int, name: str, changes: Counter[CheckKind]) -> None:
    last = "(SELECT max(o.number) FROM check_run o WHERE o.suite_id = :suite_id AND o.name = :name)"
    rows = db.all(
        "UPDATE check_run SET latest = 1 - latest WHERE suite_id = :suite_id AND name = :name"
        f" AND (number = {last} AND latest = 0 OR number < {last} AND latest = 1)"
        f" RETURNING {SORT}",
        suite_id=suite_id,
        name=name,
    )
    for row in rows:
        changes[sort_of(row)] += 1
        changes[sort_of({**row, "latest": 1 - row["latest"]})] -= 1


def _trim(db: Connection, kept: Row, name: str, changes: Counter[CheckKind]) -> None:
    """Delete the oldest runs with this name that are too many, except the run that is written."""
    rows = db.all(
        "DELETE FROM check_run WHERE suite_id = :suite_id AND name = :name AND id <> :kept"
        " AND number <= (SELECT o.number FROM check_run o WHERE o.suite_id = :suite_id"
        " AND o.name = :name AND o.id <> :kept ORDER BY o.number DESC LIMIT 1 OFFSET :most)"
        f" RETURNING {SORT}",
        suite_id=kept["suite_id"],
        name=name,
        kept=kept["id"],
        most=MOST_OF_A_NAME - (name == kept["name"]),
    )
    changes.subtract(sort_of(row) for row in rows)


def page(
    db: Connection, suite_ids: Iterable[int], chosen: CheckRunFilter, *, limit: int, offset: int
) -> list[Row]:
    """Return a page of these suites' runs, newest first."""
    where, given = chosen.where()
    # Each suite contributes as many as the page can hold. Otherwise all runs would be sorted.
    first = (
        f"SELECT c.id FROM check_run c WHERE c.suite_id = w.suite AND {where}"
        " ORDER BY c.number DESC LIMIT :most"
    )
    rows = paging.page(
        db,
        f"SELECT {COLUMNS} {FROM} WHERE c.id IN (SELECT f.id FROM"
        f" {db.each('suites', suite='integer')} AS w {db.lateral('check_run', 'f', first)})"
        " ORDER BY c.number DESC, c.id DESC",
        limit,
        offset,
        suites=json_array(suite_ids),
        most=offset + limit,
        **given,
    )
    return [row for row in map(_read, rows) if row is not None]


def count(db: Connection, suite_ids: Sequence[int], chosen: CheckRunFilter) -> int:
    """Return how many runs `page` can return."""
    if chosen.name is None:
        return check_counts.total(
            db, suite_ids, status=chosen.status, only_latest=chosen.only_latest
        )
    where, given = chosen.where()
    return db.number(
        f"SELECT count(*) FROM {db.each('suites', suite='integer')} AS w"
        f" JOIN check_run c ON c.suite_id = w.suite AND {where}",
        suites=json_array(suite_ids),
        **given,
    )
