"""The teams of an organization: its own, and the ones that its enterprise assigns to it.

The rows of both have the same columns. `enterprise_id` is None for the organization's own.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from store.accounts import accounts, teams
from store.database import paging
from store.database.connection import Connection, Row, json_array
from store.enterprises import enterprise_teams

OWN_COLUMNS = (
    "t.id, t.slug, t.name, t.description, t.privacy, t.permission, t.notification_setting,"
    " t.created_at, t.updated_at, NULL AS enterprise_id"
)
OWN = "FROM team t WHERE t.organization_id = :organization_id"
# Members see a secret team only if they are in it, and owners see all of them.
IN_TEAM = (
    "EXISTS (SELECT 1 FROM team_member m WHERE m.team_id = t.id AND m.account_id = :account_id)"
)
VISIBLE = f"(t.privacy <> 'secret' OR {IN_TEAM})"
ASSIGNED_COLUMNS = (
    "t.id, t.slug, t.name, t.description, 'closed' AS privacy, 'pull' AS permission,"
    " t.notification_setting, t.created_at, t.updated_at, t.enterprise_id"
)
ASSIGNED = (
    "FROM enterprise_team t JOIN enterprise_organization o ON o.enterprise_id = t.enterprise_id"
    " WHERE o.organization_id = :organization_id AND (t.selection = 'all' OR"
    " (t.selection = 'selected' AND EXISTS (SELECT 1 FROM enterprise_team_organization x"
    " WHERE x.team_id = t.id AND x.organization_id = o.organization_id)))"
)


def page(
    db: Connection, organization_id: int, viewer: Row, kind: str, *, limit: int, offset: int
) -> list[Row]:
    """Return a page of the teams that the viewer may see, by slug.

    `viewer` is an account's `id` and whether it is an `owner`. `kind` is `organization`,
    `enterprise` or `all`.
    """
    found, given = _teams(organization_id, viewer, kind)
    # Each part has an index in this order, so that the engine only merges them.
    query = " UNION ALL ".join(f"SELECT {columns} {rows}" for columns, rows in found)
    return paging.page(db, f"{query} ORDER BY slug, id", limit, offset, **given)


def count(db: Connection, organization_id: int, viewer: Row, kind: str) -> int:
    """Return how many teams `page` can return."""
    own = 0 if kind == "enterprise" else teams.count(db, organization_id, viewer)
    if kind == "organization":
        return own
    return own + db.number(f"SELECT count(*) {ASSIGNED}", organization_id=organization_id)


def find(db: Connection, organization_id: int, slug: str) -> Row | None:
    """Return the organization's team with this slug, in any case, or None."""
    # The slug of an enterprise's team has a prefix that no other one can have.
    columns, rows = OWN_COLUMNS, OWN
    if slug.lower().startswith(enterprise_teams.PREFIX):
        columns, rows = ASSIGNED_COLUMNS, ASSIGNED
    return db.one(
        f"SELECT {columns} {rows} AND t.slug = :slug",
        organization_id=organization_id,
        slug=slug.lower(),
    )


def is_visible(db: Connection, organization_id: int, viewer: Row, team: Row) -> bool:
    if team["enterprise_id"] is not None:
        return True
    [(_, own)], given = _teams(organization_id, viewer, "organization")
    return db.exists(f"SELECT 1 {own} AND t.id = :id", id=team["id"], **given)


def hidden(
    db: Connection, organization_id: int, viewer: Row, reported: Iterable[Mapping[str, Any]]
) -> Collection[str]:
    """Return the slugs of the teams, among those that a platform reported, that are hidden.

    They are secret, and the viewer is not in them. If the hub does not know a team, it is secret if
    one of its reports says so.
    """
    # True comes last, so that a team is secret if one of its reports says so.
    teams = dict(sorted((one["slug"], one.get("privacy") == "secret") for one in reported))
    if not teams or viewer["owner"]:
        return ()
    known = db.mapping(
        f"SELECT t.slug, CASE WHEN {VISIBLE} THEN 1 ELSE 0 END {OWN} AND t.slug"
        f" {db.among('slugs', 'text')}",
        organization_id=organization_id,
        account_id=viewer["id"],
        slugs=json_array({slug.lower() for slug in teams}),
    )
    return {slug for slug, secret in teams.items() if not known.get(slug.lower(), not secret)}


def _teams(
    organization_id: int, viewer: Row, kind: str
) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """Return SQL for the columns and the rows of each part of the list, and the parameters."""
    found = []
    given: dict[str, Any] = {"organization_id": organization_id}
    if kind != "enterprise":
        found.append((OWN_COLUMNS, OWN if viewer["owner"] else f"{OWN} AND {VISIBLE}"))
        if not viewer["owner"]:
            given["account_id"] = viewer["id"]
    if kind != "organization":
        found.append((ASSIGNED_COLUMNS, ASSIGNED))
    return found, given


# Owners of the organization maintain its teams.
MAINTAINS = (
    "EXISTS (SELECT 1 FROM membership s WHERE s.account_id = {} AND s.role = 'admin'"
    " AND s.organization_id = :organization_id)"
)
ROLES = {
    "all": "",
    "maintainer": f" AND {MAINTAINS.format('m.account_id')}",
    "member": f" AND NOT {MAINTAINS.format('m.account_id')}",
}


def members(
    db: Connection,
    organization_id: int,
    team: Row,
    role: str,
    *,
    total: int,
    limit: int,
    offset: int,
) -> list[Row]:
    """Return a page of a team's members, by login, each with whether it `maintains` the team.

    `role` is one of ROLES, and `total` the result of `count_members`.
    """
    maintains = f"CASE WHEN {MAINTAINS.format('a.id')} THEN 1 ELSE 0 END AS maintains"
    return paging.listed_page(
        db,
        f"SELECT {accounts.OF_JOINED}, {maintains} FROM account a",
        accounts.by_login_among(_members(team, role)),
        total=total,
        limit=limit,
        offset=offset,
        organization_id=organization_id,
        team_id=team["id"],
    )


def maintains(db: Connection, organization_id: int, team: Row, account_id: int) -> bool | None:
    """Return whether an account maintains a team that it is a member of; None if it is none."""
    is_maintainer = f"CASE WHEN {MAINTAINS.format('f.id')} THEN 1 ELSE 0 END"
    found = db.optional_number(
        f"SELECT {is_maintainer} FROM ({_members(team, 'all')}) AS f WHERE f.id = :account_id",
        organization_id=organization_id,
        team_id=team["id"],
        account_id=account_id,
    )
    return None if found is None else bool(found)


def count_members(db: Connection, organization_id: int, team: Row, role: str = "all") -> int:
    """Return how many members `members` can return."""
    if role == "all":
        table = "team" if team["enterprise_id"] is None else "enterprise_team"
        return db.number(f"SELECT members FROM {table} WHERE id = :id", id=team["id"])
    return db.number(
        f"SELECT count(*) FROM ({_members(team, role)}) AS f",
        team_id=team["id"],
        organization_id=organization_id,
    )


def _members(team: Row, role: str) -> str:
    table = "team_member" if team["enterprise_id"] is None else "enterprise_team_member"
    return f"SELECT m.account_id AS id FROM {table} m WHERE m.team_id = :team_id{ROLES[role]}"
