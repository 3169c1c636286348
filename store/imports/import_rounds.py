"""Rounds of imports: the work of workers, and its progress.

A worker claims due imports. Each start of an import gets a new `round`. Reports about an earlier
round change nothing, and so its worker finds out that it must stop.
"""

from collections.abc import Collection, Mapping
from typing import Any

import orjson

from store.database.connection import Connection, Row, json_array
from store.imports import import_contents
from store.imports.import_contents import Renamed
from store.imports.imports import NEEDS_ATTENTION, needed, new_round

TOLD = ("commit_count", "authors_count", "import_percent", "push_percent", "status", "step", "vcs")


def next_due(db: Connection) -> int | None:
    """Return since when the first import has been due, or None."""
    return db.optional_number(
        "SELECT due_at FROM source_import WHERE due_at IS NOT NULL ORDER BY due_at, repo_id LIMIT 1"
    )


def is_due(db: Connection, but: Collection[int]) -> bool:
    """Return whether an import is due in any repository except these."""
    return _first_due(db, but) is not None


def claim(db: Connection, but: Collection[int]) -> Row | None:
    """Claim the first due import in a repository except these. Return it, or None.

    It gets a new round, so that a worker that claimed it before loses it. `tries` counts its rounds
    until one of them ends.
    """
    repo_id = _first_due(db, but)
    if repo_id is None:
        return None
    # It may be cancelled meanwhile.
    claimed = db.execute(
        "UPDATE source_import SET round = :round, status = step, tries = tries + 1,"
        " import_percent = NULL, push_percent = NULL"
        " WHERE repo_id = :repo_id AND due_at IS NOT NULL",
        round=new_round(),
        repo_id=repo_id,
    )
    return needed(db, repo_id) if claimed else None


def release(db: Connection, row: Row) -> bool:
    """Leave the import to the next claim, without counting this round.

    Return False if it is not current.
    """
    return _change(db, row, "tries = tries - 1", {})


def _first_due(db: Connection, but: Collection[int]) -> int | None:
    return db.optional_number(
        "SELECT repo_id FROM source_import WHERE due_at IS NOT NULL AND repo_id NOT"
        f" {db.among('but')}"
        " ORDER BY due_at, repo_id LIMIT 1",
        but=json_array(but),
    )


def rounds(db: Connection) -> dict[int, int]:
    """Return repository id to round, for all imports under way."""
    return db.mapping("SELECT repo_id, round FROM source_import WHERE due_at IS NOT NULL")


def is_current(db: Connection, row: Row) -> bool:
    found = db.value(
        "SELECT round FROM source_import WHERE repo_id = :id AND due_at IS NOT NULL",
        id=row["repo_id"],
    )
    return bool(found == row["round"])


def report_progress(db: Connection, row: Row, changed: Mapping[str, Any]) -> bool:
    """Record the progress of this round: values of some columns in TOLD.

    If it is not the current round, return False and change nothing.
    """
    assert set(changed) <= set(TOLD), changed
    assignments = ", ".join(f"{name} = :{name}" for name in changed)
    return _change(db, row, assignments, changed)


def stop(
    db: Connection,
    row: Row,
    status: str,
    message: str | None = None,
    failed_step: str | None = None,
) -> bool:
    """End this round with a problem that a person must solve. Return False if it is not current."""
    assert status in NEEDS_ATTENTION, status
    assignments = (
        "status = :status, error_message = :message, failed_step = :failed_step, due_at = NULL"
    )
    given = {"status": status, "message": message, "failed_step": failed_step}
    return _change(db, row, assignments, given)


def choose(db: Connection, row: Row, choices: list[dict[str, str]]) -> bool:
    """End this round, because a person must choose a project. Return False if it is not current."""
    db.execute(
        "UPDATE source_import SET project_choices = :choices"
        " WHERE repo_id = :repo_id AND round = :round",
        choices=orjson.dumps(choices).decode(),
        repo_id=row["repo_id"],
        round=row["round"],
    )
    return stop(db, row, "detection_found_multiple")


def complete(db: Connection, row: Row, names: Renamed) -> bool | None:
    """End this round successfully, with these names of authors.

    Return False if the names have changed since, so that the mapping must be repeated. Return None
    if it is not the current round.
    """
    db.alone(f"import {row['repo_id']}")
    if not is_current(db, row):
        return None
    if import_contents.renamed(db, row["repo_id"]) != names:
        return False
    assignments = "status = 'complete', step = 'mapping', push_percent = 100, due_at = NULL"
    return _change(db, row, assignments, {})


def _change(db: Connection, row: Row, assignments: str, given: Mapping[str, Any]) -> bool:
    changed = db.execute(
        f"UPDATE source_import SET {assignments}, updated_at = :now"
        " WHERE repo_id = :repo_id AND round = :round AND due_at IS NOT NULL",
        repo_id=row["repo_id"],
        round=row["round"],
        **given,
    )
    return changed > 0
