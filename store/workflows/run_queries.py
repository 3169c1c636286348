"""Lists of a repository's workflow runs, by filters."""

from collections.abc import Iterator
from dataclasses import dataclass

from store.database import paging
from store.database.connection import Connection, Row, prefixed
from store.workflows import run_counts, workflow_runs

COLUMNS = prefixed("w", workflow_runs.RUN)


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs to list. `status` is a status or a conclusion; times are in microseconds."""

    actor: str | None = None
    branch: str | None = None
    event: str | None = None
    status: str | None = None
    head_sha: str | None = None
    suite_number: int | None = None
    workflow_number: int | None = None
    created_from: int | None = None
    created_before: int | None = None


def page(db: Connection, repo_id: int, chosen: RunFilter, *, limit: int, offset: int) -> list[Row]:
    """Return a page of a repository's runs, the newest first."""
    where, given = _where(repo_id, chosen)
    return paging.page(
        db,
        f"SELECT {COLUMNS} FROM workflow_run w WHERE {where} ORDER BY w.created_at DESC, w.id DESC",
        limit,
        offset,
        **given,
    )


def count(db: Connection, repo_id: int, chosen: RunFilter) -> int:
    """Return how many runs `page` can return. Without another filter, they need not be counted."""
    if chosen == RunFilter(workflow_number=chosen.workflow_number):
        return run_counts.total(db, repo_id, chosen.workflow_number)
    where, given = _where(repo_id, chosen)
    return db.number(f"SELECT count(*) FROM workflow_run w WHERE {where}", **given)


def _where(repo_id: int, chosen: RunFilter) -> tuple[str, Row]:
    parts = ["w.repo_id = :repo_id"]
    given: Row = {"repo_id": repo_id}
    for sql, name, value in _conditions(chosen):
        if value is not None:
            parts.append(sql)
            given[name] = value
    return " AND ".join(parts), given


def _conditions(chosen: RunFilter) -> Iterator[tuple[str, str, str | int | None]]:
    login = chosen.actor and chosen.actor.lower()
    yield "w.actor_id = (SELECT id FROM account WHERE login_key = :actor)", "actor", login
    yield "w.head_branch = :branch", "branch", chosen.branch
    yield "w.event = :event", "event", chosen.event
    yield "(w.status = :status OR w.conclusion = :status)", "status", chosen.status
    yield "w.head_sha = :head_sha", "head_sha", chosen.head_sha
    yield "w.suite_number = :suite", "suite", chosen.suite_number
    yield "w.workflow_number = :workflow", "workflow", chosen.workflow_number
    yield "w.created_at >= :first", "first", chosen.created_from
    yield "w.created_at < :last", "last", chosen.created_before
