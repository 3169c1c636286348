"""The repositories to which an organization's teams have access, and with which role."""

from typing import Any

from store.database import paging, upsert
from store.database.connection import Connection, Row
from store.database.paging import ListedRows
from store.enterprises import organization_teams
from store.errors import Invalid

SELECT = (
    f"SELECT {organization_teams.OWN_COLUMNS}, g.role FROM team t"
    " JOIN team_repository g ON g.team_id = t.id AND g.repo_id = :repo_id"
)
ALLOWED = "SELECT g.team_id AS id FROM team_repository g WHERE g.repo_id = :repo_id"


def put(db: Connection, team: Row, repo: Row, role: str) -> bool:
    """Give a team a role in a repository. Return whether that changes anything.

    Raises Invalid if the repository belongs to somebody else than the team's organization.
    """
    if repo["owner_id"] != team["organization_id"]:
        raise Invalid(f"{repo['full_name']} does not belong to the organization of the team")
    given = {"repo_id": repo["id"], "team_id": team["id"], "role": role}
    added = db.execute(
        "INSERT INTO team_repository (repo_id, team_id, role) VALUES (:repo_id, :team_id, :role)"
        " ON CONFLICT (repo_id, team_id) DO NOTHING",
        **given,
    )
    if added:
        add(db, repo["id"], 1)
        return True
    changed = db.execute(
        "UPDATE team_repository SET role = :role"
        " WHERE repo_id = :repo_id AND team_id = :team_id AND role <> :role",
        **given,
    )
    return changed > 0


def add(db: Connection, repo_id: int, number: int) -> None:
    """Add to the stored number of teams that have access to a repository.

    Teams only go with their organization, which must have no repositories then.
    """
    upsert.count_at_commit(db, "team_repository_tally", "repo_id", "teams", {(repo_id,): number})


def page(
    db: Connection, repo: Row, viewer: Row, *, total: int, limit: int, offset: int
) -> list[Row]:
    """Return the teams with access that the viewer may see, by slug, each with its `role`.

    `viewer` is as in `organization_teams.page`, and `total` the result of `count`.
    """
    within, given = "t.organization_id = :organization_id", _given(repo)
    if not viewer["owner"]:
        within += f" AND {organization_teams.VISIBLE}"
        given["account_id"] = viewer["id"]
    teams = ListedRows("team", "t", "t.slug", "t.id", ALLOWED, within)
    return paging.listed_page(db, SELECT, teams, total=total, limit=limit, offset=offset, **given)


def count(db: Connection, repo: Row, viewer: Row) -> int:
    """Return how many teams `page` can return."""
    total = db.find_value("SELECT teams FROM team_repository_tally", repo_id=repo["id"]) or 0
    return total if viewer["owner"] else total - _count_hidden(db, repo, viewer)


def _count_hidden(db: Connection, repo: Row, viewer: Row) -> int:
    """Return how many teams with access the viewer may not see. These are mostly few."""
    return db.number(
        "SELECT count(*) FROM team t JOIN team_repository g ON g.team_id = t.id"
        " AND g.repo_id = :repo_id WHERE t.organization_id = :organization_id"
        f" AND t.privacy = 'secret' AND NOT {organization_teams.IN_TEAM}",
        account_id=viewer["id"],
        **_given(repo),
    )


def _given(repo: Row) -> dict[str, Any]:
    return {"organization_id": repo["owner_id"], "repo_id": repo["id"]}


def count_of(db: Connection, team: Row) -> int:
    """Return to how many repositories a team has access. Teams of enterprises have none."""
    if team["enterprise_id"] is not None:
        return 0
    return db.number(
        "SELECT count(*) FROM team_repository WHERE team_id = :team_id", team_id=team["id"]
    )
