"""The members that only the full representation of a repository has."""

from collections.abc import Iterable

from store.database import upsert
from store.database.connection import Connection, Row, json_array

FEATURES = (
    "has_issues",
    "has_projects",
    "has_wiki",
    "has_pages",
    "has_discussions",
    "is_template",
    "disabled",
)


def details(db: Connection, repo_ids: Iterable[int]) -> dict[int, Row]:
    """Return repository id to FEATURES (0 or 1), `mirror_url` and the number of `open_issues`.

    Open pull requests count as open issues.
    """
    columns = ", ".join(f"r.{name}" for name in (*FEATURES, "mirror_url"))
    rows = db.all(
        f"SELECT r.id, {columns}, coalesce(t.open_issues, 0) AS open_issues"
        f" FROM {db.each('ids', wanted='integer')} AS w JOIN repository r ON r.id = w.wanted"
        " LEFT JOIN issue_tally t ON t.repo_id = r.id",
        ids=json_array(set(repo_ids)),
    )
    added = upsert.uncommitted(db, "issue_tally")
    return {
        row["id"]: {**row, "open_issues": row["open_issues"] + added[(row["id"],)]} for row in rows
    }


def has_issues(db: Connection, repo_id: int) -> bool:
    return bool(db.value("SELECT has_issues FROM repository WHERE id = :id", id=repo_id))


def owned(db: Connection, owner_id: int) -> Row:
    """Return the totals of an owner's repositories.

    They are `public`, `private`, `size` in kB, and `collaborators` of the private ones.
    """
    row = db.required(
        "SELECT coalesce(sum(1 - r.private), 0) AS public, coalesce(sum(r.private), 0) AS private,"
        " coalesce(sum(r.size), 0) AS size, (SELECT count(DISTINCT c.account_id)"
        " FROM collaborator c JOIN repository p ON p.id = c.repo_id"
        " WHERE p.owner_id = :owner_id AND p.private = 1) AS collaborators"
        " FROM repository r WHERE r.owner_id = :owner_id",
        owner_id=owner_id,
    )
    return {name: int(value) for name, value in row.items()}
