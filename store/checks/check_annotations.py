"""Annotations of check runs on lines of files. They are appended, and not deleted one by one."""

from collections.abc import Mapping, Sequence
from typing import Any

from store.database import paging
from store.database.connection import Connection, Row

COLUMNS = (
    "path",
    "start_line",
    "end_line",
    "start_column",
    "end_column",
    "level",
    "message",
    "title",
    "raw_details",
)
LISTED = ", ".join(COLUMNS)


def append(db: Connection, run_id: int, given: Sequence[Mapping[str, Any]]) -> None:
    """Append annotations to a run. Each has some of COLUMNS."""
    if not given:
        return
    rows = [(run_id, *(each.get(column) for column in COLUMNS)) for each in given]
    db.insert_many("check_annotation", f"run_id, {LISTED}", rows)
    db.execute(
        "UPDATE check_run SET annotations = annotations + :more WHERE id = :id",
        more=len(given),
        id=run_id,
    )


def page(db: Connection, run_id: int, *, limit: int, offset: int) -> list[Row]:
    """Return a page of a run's annotations, in the order of their arrival."""
    return paging.page(
        db,
        f"SELECT {LISTED} FROM check_annotation WHERE run_id = :run_id ORDER BY id",
        limit,
        offset,
        run_id=run_id,
    )


def replace(db: Connection, run_id: int, wanted: Sequence[Mapping[str, Any]]) -> bool:
    """Replace a run's annotations. Return whether that changes anything."""
    rows = [{column: each.get(column) for column in COLUMNS} for each in wanted]
    if page(db, run_id, limit=len(rows) + 1, offset=0) == rows:
        return False
    db.delete("check_annotation", run_id=run_id)
    db.update("check_run", run_id, annotations=0)
    append(db, run_id, rows)
    return True
