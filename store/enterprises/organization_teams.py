"""The teams of an organization: its own, and the ones that its enterprise assigns to it.

The rows of both have the columns of COLUMNS. `enterprise_id` is None for the organization's own.
"""

from collections.abc import Sequence
from typing import Any

from store.accounts import accounts
from store.database import paging
from store.database.connection import Connection, Row, prefixed
from store.enterprises import enterprise_teams

COLUMNS = (
    "id, slug, name, description, privacy, permission, notification_setting, created_at,"
    " updated_at, enterprise_id"
)
OWN = (
    "SELECT t.id, t.slug, t.name, t.description, t.privacy, t.permission, t.notification_setting,"
    " t.created_at, t.updated_at, NULL AS enterprise_id FROM team t"
    " WHERE t.organization_id = :organization_id"
)
# Members see a secret team only if they are in it, and owners see all of them.
VISIBLE = (
    " AND (t.privacy <> 'secret' OR :owner = 1 OR EXISTS (SELECT 1 FROM team_member m"
    " WHERE m.team_id = t.id AND m.account_id = :account_id))"
)
ASSIGNED = (
    "SELECT t.id, t.slug, t.name, t.description, 'closed' AS privacy, 'pull' AS permission,"
    " t.notification_setting, t.created_at, t.updated_at, t.enterprise_id FROM enterprise_team t"
    " JOIN enterprise_organization o ON o.enterprise_id = t.enterprise_id"
    " WHERE o.organization_id = :organization_id AND (t.selection = 'all' OR"
    " (t.selection = 'selected' AND EXISTS (SELECT 1 FROM enterprise_team_organization x"
    " WHERE x.team_id = t.id AND x.organization_id = o.organization_id)))"
)
SEEN = f"{OWN}{VISIBLE}"
KINDS = {"organization": (SEEN,), "enterprise": (ASSIGNED,), "all": (SEEN, ASSIGNED)}
"""The teams of each kind, as SQL, by the name that the API gives to it."""


def page(
    db: Connection, organization_id: int, viewer: Row, kind: str, *, limit: int, offset: int
) -> list[Row]:
    """Return a page of the teams that the viewer may see, by slug.

    `viewer` is an account's `id` and whether it is an `owner`. `kind` is one of KINDS.
    """
    found, given = _teams(organization_id, viewer, KINDS[kind])
    return paging.page(
        db, f"SELECT {COLUMNS} FROM ({found}) AS f ORDER BY slug, id", limit, offset, **given
    )


def count(db: Connection, organization_id: int, viewer: Row, kind: str) -> int:
    """Return how many teams `page` can return."""
    found, given = _teams(organization_id, viewer, KINDS[kind])
    total: int = db.value(f"SELECT count(*) FROM ({found}) AS f", **given)
    return total


def find(db: Connection, organization_id: int, slug: str) -> Row | None:
    """Return the organization's team with this slug, in any case, or None."""
    # The slug of an enterprise's team has a prefix that no other one can have.
    kind = ASSIGNED if slug.lower().startswith(enterprise_teams.PREFIX) else OWN
    return db.one(f"{kind} AND t.slug = :slug", organization_id=organization_id, slug=slug.lower())


def is_visible(db: Connection, organization_id: int, viewer: Row, team: Row) -> bool:
    """Return whether the viewer may see a team of the organization."""
    if team["enterprise_id"] is not None:
        return True
    found, given = _teams(organization_id, viewer, KINDS["organization"])
    seen = db.value(f"SELECT 1 FROM ({found}) AS f WHERE id = :id", id=team["id"], **given)
    return seen is not None


def _teams(organization_id: int, viewer: Row, kinds: Sequence[str]) -> tuple[str, dict[str, Any]]:
    given: dict[str, Any] = {"organization_id": organization_id}
    if SEEN in kinds:
        given |= {"account_id": viewer["id"], "owner": int(viewer["owner"])}
    return " UNION ALL ".join(kinds), given


# Owners of the organization maintain its teams.
MEMBERS = (
    "FROM {table} m JOIN account a ON a.id = m.account_id LEFT JOIN membership s"
    " ON s.account_id = a.id AND s.organization_id = :organization_id WHERE m.team_id = :team_id"
)
ROLES = {
    "all": "",
    "maintainer": " AND s.role = 'admin'",
    "member": " AND coalesce(s.role, '') <> 'admin'",
}


def members(
    db: Connection, organization_id: int, team: Row, role: str, *, limit: int, offset: int
) -> list[Row]:
    """Return a page of a team's members, by login, each with whether it `maintains` the team.

    `role` is one of ROLES.
    """
    columns = prefixed("a", accounts.COLUMNS)
    maintains = "CASE WHEN s.role = 'admin' THEN 1 ELSE 0 END AS maintains"
    return paging.page(
        db,
        f"SELECT {columns}, {maintains} {_members(team, role)} ORDER BY a.login_key",
        limit,
        offset,
        organization_id=organization_id,
        team_id=team["id"],
    )


def count_members(db: Connection, organization_id: int, team: Row, role: str = "all") -> int:
    """Return how many members `members` can return."""
    total: int = db.value(
        f"SELECT count(*) {_members(team, role)}",
        organization_id=organization_id,
        team_id=team["id"],
    )
    return total


def _members(team: Row, role: str) -> str:
    table = "team_member" if team["enterprise_id"] is None else "enterprise_team_member"
    return MEMBERS.format(table=table) + ROLES[role]
