"""The records of a round of an import in the store: its survey, result and end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from store import Connection, Row
from store.imports import import_contents, import_rounds
from store.imports.import_contents import Renamed
from store.repositories import refs, repositories
from worker.imports.steps import RESOLVED, Survey
from worker.publishing import EventEmitter


class ImportCancelled(Exception):
    """The import was cancelled or started again."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """An imported history: the renamed authors, new default branch or None, branches and tags, and
    size in bytes.
    """

    names: Renamed
    head: str | None
    refs: dict[str, str]
    size: int


def finish(
    db: Connection,
    row: Row,
    outcome: str,
    emit: EventEmitter,
    change: Callable[..., bool],
    *given: Any,
) -> None:
    """Record the end of a round with a problem, and report it. A later round makes it void."""
    if change(db, row, *given):
        emit(db, "repository_import", [row | {"outcome": outcome}])


def save_survey(db: Connection, row: Row, survey: Survey) -> bool:
    """Record a survey without its authors. Return False if the round is not current."""
    counts = {"commit_count": survey.commits, "authors_count": survey.authors_count}
    if not import_rounds.report_progress(db, row, counts | {"import_percent": RESOLVED}):
        return False
    large = {"count": survey.large_count, "size": survey.large_size}
    import_contents.put_large_files(db, row["repo_id"], survey.large_files, **large)
    return True


def save_part(
    db: Connection, row: Row, percent: int, change: Callable[..., None], part: Sequence[Any]
) -> bool:
    """Make a change to some of the authors. Return False if the round is not current."""
    if not import_rounds.report_progress(db, row, {"import_percent": percent}):
        return False
    change(db, row["repo_id"], part)
    return True


def complete(db: Connection, row: Row, result: ImportResult, emit: EventEmitter) -> bool:
    """Record the result of a round.

    Return False if authors were renamed meanwhile. Raises ImportCancelled if the round is not
    current.
    """
    ended = import_rounds.complete(db, row, result.names)
    if ended is None:
        raise ImportCancelled
    if ended:
        refs.replace(db, row["repo_id"], result.refs)
        branch = (result.head or "").removeprefix("refs/heads/") or None
        repositories.imported(db, row["repo_id"], branch, result.size)
        emit(db, "repository_import", [row | {"outcome": "success"}])
    return ended
