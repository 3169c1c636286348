"""Rounds of imports: what workers do, and how far it is.

A worker takes imports that are due. Each time that one is begun anew it gets another `round`: what
a worker tells of an earlier one changes nothing, and so it learns that it is wanted no more.
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
    """Since when the first import waits, or is under way; None where there is none."""
    found: int | None = db.value(
        "SELECT due_at FROM source_import WHERE due_at IS NOT NULL ORDER BY due_at, repo_id LIMIT 1"
    )
    return found


def is_due(db: Connection, but: Collection[int]) -> bool:
    """Whether an import is to be seen to, of another repository than these."""
    return _first_due(db, but) is not None


def claim(db: Connection, but: Collection[int]) -> Row | None:
    """Take up the first import that is due, of other repositories than these: it has a round of its
    own from then on, so that whoever had it before has it no more. None where there is none.
    """
    repo_id = _first_due(db, but)
    if repo_id is None:
        return None
    db.execute(
        "UPDATE source_import SET round = :round, status = step, import_percent = NULL,"
        " push_percent = NULL WHERE repo_id = :repo_id",
        round=new_round(),
        repo_id=repo_id,
    )
    return needed(db, repo_id)


def _first_due(db: Connection, but: Collection[int]) -> int | None:
    found: int | None = db.value(
        "SELECT repo_id FROM source_import WHERE due_at IS NOT NULL AND repo_id NOT IN"
        f" (SELECT i.id FROM {db.each('but', id='integer')} AS i)"
        " ORDER BY due_at, repo_id LIMIT 1",
        but=json_array(but),
    )
    return found


def rounds(db: Connection) -> dict[int, int]:
    """The rounds of all imports that are under way, by repository."""
    return dict(db.tuples("SELECT repo_id, round FROM source_import WHERE due_at IS NOT NULL"))


def is_current(db: Connection, row: Row) -> bool:
    """Whether this round of an import is still the one that is wanted."""
    found = db.value(
        "SELECT round FROM source_import WHERE repo_id = :id AND due_at IS NOT NULL",
        id=row["repo_id"],
    )
    return bool(found == row["round"])


def report_progress(db: Connection, row: Row, changed: Mapping[str, Any]) -> bool:
    """Write how far this round of an import is: values for some of TOLD. False, with nothing
    changed, where another one is wanted by now.
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
    """End this round with a problem that somebody has to see to. False where another is wanted."""
    assert status in NEEDS_ATTENTION, status
    assignments = (
        "status = :status, error_message = :message, failed_step = :failed_step, due_at = NULL"
    )
    given = {"status": status, "message": message, "failed_step": failed_step}
    return _change(db, row, assignments, given)


def choose(db: Connection, row: Row, choices: list[dict[str, str]]) -> bool:
    """End this round with several projects of which one has to be chosen."""
    db.execute(
        "UPDATE source_import SET project_choices = :choices"
        " WHERE repo_id = :repo_id AND round = :round",
        choices=orjson.dumps(choices).decode(),
        repo_id=row["repo_id"],
        round=row["round"],
    )
    return stop(db, row, "detection_found_multiple")


def complete(db: Connection, row: Row, names: Renamed) -> bool | None:
    """End this round well, with authors of these names. False where they are called otherwise by
    now, so that it has to be done again; None where another round is wanted.
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
        now=db.now,
        repo_id=row["repo_id"],
        round=row["round"],
        **given,
    )
    return changed > 0
