"""The teams of an organization, and their members."""

import re
from collections.abc import Collection, Iterable
from typing import Any

from store.database import row_lookup
from store.database.connection import Connection, Row, json_array, prefixed
from store.errors import Conflict, Invalid

COLUMNS = (
    "id, organization_id, slug, name, description, privacy, permission, notification_setting,"
    " created_at, updated_at"
)
LONGEST = 100


def slug_of(name: str) -> str:
    """Return the name of a team in paths: the letters and digits of its name."""
    return re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")


def new_id(db: Connection) -> int:
    """Return an id that no team has: an organization lists its own teams and its enterprise's."""
    return db.number("INSERT INTO team_id DEFAULT VALUES RETURNING id")


def create(db: Connection, organization_id: int, name: str, **given: Any) -> Row:
    """Create a team. Raises Invalid for a name without a slug, Conflict for an existing one."""
    slug = slug_of(name)
    if not slug or len(name) > LONGEST:
        raise Invalid(f"a team's name needs a letter or digit, and at most {LONGEST} characters")
    fields = {
        "description": None,
        "privacy": "closed",
        "permission": "pull",
        "notification_setting": "notifications_enabled",
        **given,
    }
    row = db.one(
        "INSERT INTO team (id, organization_id, slug, name, description, privacy, permission,"
        " notification_setting, created_at, updated_at) VALUES (:id, :organization_id, :slug,"
        " :name, :description, :privacy, :permission, :notification_setting, :now, :now)"
        f" ON CONFLICT (organization_id, slug) DO NOTHING RETURNING {COLUMNS}",
        id=new_id(db),
        organization_id=organization_id,
        slug=slug,
        name=name,
        **fields,
    )
    if row is None:
        raise Conflict(f"there is a team {name!r} already")
    return row


def named(db: Connection, organization_id: int, names: Collection[str]) -> list[Row]:
    """Return the organization's teams with these names or slugs."""
    columns = prefixed("t", COLUMNS)
    return db.all(
        f"SELECT {columns} FROM {db.each('slugs', slug='text')} AS w JOIN team t"
        " ON t.slug = w.slug WHERE t.organization_id = :organization_id ORDER BY t.id",
        slugs=json_array({slug_of(name) for name in names}),
        organization_id=organization_id,
    )


def of(db: Connection, team_ids: Iterable[int]) -> dict[int, Row]:
    return row_lookup.by_id(db, f"SELECT {COLUMNS} FROM team WHERE id", team_ids)


def update(db: Connection, team: Row, **changes: Any) -> bool:
    """Change a team's description, privacy or permission. Return False if nothing changes."""
    after = {**team, **changes}
    if after == team:
        return False
    db.update(
        "team",
        team["id"],
        description=after["description"],
        privacy=after["privacy"],
        permission=after["permission"],
        updated_at=db.now,
    )
    return True


def join(db: Connection, team_id: int, account_ids: Collection[int]) -> bool:
    """Add members to a team. Return False if all of them are members already."""
    before = len(member_ids(db, [team_id]))
    db.insert_many(
        "team_member",
        "team_id, account_id",
        [(team_id, account_id) for account_id in account_ids],
        "ON CONFLICT (team_id, account_id) DO NOTHING",
    )
    return len(member_ids(db, [team_id])) > before


def member_ids(db: Connection, team_ids: Iterable[int]) -> dict[int, int]:
    """Return the members of these teams: account id to the id of one of their teams."""
    return db.mapping(
        "SELECT m.account_id, min(m.team_id) FROM team_member m WHERE m.team_id IN"
        f" (SELECT w.id FROM {db.each('ids', id='integer')} AS w) GROUP BY m.account_id",
        ids=json_array(team_ids),
    )
