"""Lists of a repository's workflow runs, by filters."""

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
    login = chosen.actor and chosen.actor.lower()
    return paging.conditions(
        {
            "w.repo_id = :repo_id": repo_id,
            "w.actor_id = (SELECT id FROM account WHERE login_key = :actor)": login,
            "w.head_branch = :branch": chosen.branch,
            "w.event = :event": chosen.event,
            "(w.status = :status OR w.conclusion = :status)": chosen.status,
            "w.head_sha = :head_sha": chosen.head_sha,
            "w.suite_number = :suite": chosen.suite_number,
            "w.workflow_number = :workflow": chosen.workflow_number,
            "w.created_at >= :first": chosen.created_from,
            "w.created_at < :last": chosen.created_before,
        }
    )
