"""Imports for people to browse."""

from typing import Any

from store.database.connection import Connection, Row, json_array

# Without the user name and password for the source.
COLUMNS = (
    "i.repo_id, i.vcs_url, i.vcs, i.project, i.status, i.step, i.due_at, i.failed_step,"
    " i.error_message, i.commit_count, i.authors_count, i.import_percent, i.push_percent,"
    " i.large_files_count, i.created_at, i.updated_at"
)
NAMED = (
    f"SELECT {COLUMNS}, a.login || '/' || r.name AS repository FROM source_import i"
    " JOIN repository r ON r.id = i.repo_id JOIN account a ON a.id = r.owner_id"
)


def page(
    db: Connection, *, limit: int, before: int | None = None, repo_ids: list[int] | None = None
) -> list[Row]:
    """Return the imports into these repositories, or all, newest repository first."""
    where: list[str] = []
    given: dict[str, Any] = {}
    if before is not None:
        where.append("i.repo_id < :before")
        given["before"] = before
    if repo_ids is not None:
        where.append(f"i.repo_id IN (SELECT id FROM {db.each('repos', id='integer')} AS w)")
        given["repos"] = json_array(repo_ids)
    return db.all(
        f"{NAMED}{' WHERE ' + ' AND '.join(where) if where else ''}"
        " ORDER BY i.repo_id DESC LIMIT :limit",
        limit=limit,
        **given,
    )
