"""Teams of an enterprise, identified by slug or id."""

import re
from typing import Any

from store.accounts import teams
from store.database import paging, row_lookup, upsert
from store.database.connection import ENDLESS, Connection, Row
from store.errors import Invalid

COLUMNS = (
    "id, enterprise_id, slug, name, description, selection, group_id, notification_setting,"
    " created_at, updated_at"
)
PREFIX = "ent:"
NUMBER = re.compile(r"[0-9]{1,18}")


def slug_of(name: str) -> str:
    """Return the team's name in paths: `ent:` and the letters and digits of its name."""
    return PREFIX + teams.slug_of(name)


def create(db: Connection, enterprise_id: int, name: str, **given: Any) -> Row:
    """Create a team. Raises Invalid if its name has no slug or is in use."""
    fields = {
        "description": None,
        "selection": "disabled",
        "group_id": None,
        "notification_setting": "notifications_enabled",
        **given,
    }
    row = db.one(
        "INSERT INTO enterprise_team (id, enterprise_id, slug, name, description, selection,"
        " group_id, notification_setting, created_at, updated_at) VALUES (:id, :enterprise_id,"
        " :slug, :name, :description, :selection, :group_id, :notification_setting, :now, :now)"
        f" ON CONFLICT (enterprise_id, slug) DO NOTHING RETURNING {COLUMNS}",
        id=teams.new_id(db),
        enterprise_id=enterprise_id,
        slug=_checked(name),
        name=name,
        **fields,
    )
    if row is None:
        raise _taken(name)
    return row


def _checked(name: str) -> str:
    slug = slug_of(name)
    if slug == PREFIX or len(name) > teams.LONGEST:
        raise Invalid(
            f"a team's name needs a letter or digit, and at most {teams.LONGEST} characters",
            field="name",
            resource="EnterpriseTeam",
        )
    return slug


def _taken(name: str) -> Invalid:
    return Invalid(
        f"there is a team {name!r} already",
        field="name",
        code="already_exists",
        resource="EnterpriseTeam",
    )


def find(db: Connection, enterprise_id: int, slug_or_id: str) -> Row | None:
    """Return the enterprise's team with this slug, in any case, or this id, or None."""
    if NUMBER.fullmatch(slug_or_id):
        where, key = "id = :key", int(slug_or_id)
    else:
        where, key = "slug = :key", slug_or_id.lower()  # type: ignore[assignment] # by column
    return db.one(
        f"SELECT {COLUMNS} FROM enterprise_team WHERE enterprise_id = :enterprise_id AND {where}",
        enterprise_id=enterprise_id,
        key=key,
    )


def page(db: Connection, enterprise_id: int, *, limit: int, offset: int) -> list[Row]:
    """Return a page of the enterprise's teams, oldest first."""
    return paging.page(
        db,
        f"SELECT {COLUMNS} FROM enterprise_team WHERE enterprise_id = :enterprise_id ORDER BY id",
        limit,
        offset,
        enterprise_id=enterprise_id,
    )


def count(db: Connection, enterprise_id: int, most: int = ENDLESS) -> int:
    """Return how many teams the enterprise has, counted up to `most`."""
    return paging.count(
        db, "SELECT id FROM enterprise_team WHERE enterprise_id = :id", most, id=enterprise_id
    )


def update(db: Connection, team: Row, **changes: Any) -> Row:
    """Change columns of the team, and its slug with its name. Return it.

    Raises as `create` does, and Missing if the team is gone.
    """
    team = locked(db, team)
    after = {**team, **changes}
    if "name" in changes:
        after["slug"] = _checked(changes["name"])
    if after == team:
        return team
    other = find(db, team["enterprise_id"], after["slug"])
    if other is not None and other["id"] != team["id"]:
        raise _taken(after["name"])
    after["updated_at"] = db.now
    upsert.update(db, "enterprise_team", team, after)
    return after


def locked(db: Connection, team: Row) -> Row:
    """Lock a team until the transaction ends. Return it as it is now. Raises Missing."""
    return row_lookup.lock(db, "enterprise_team", COLUMNS, team, "enterprise team")


def delete(db: Connection, team: Row) -> None:
    """Delete the team, its memberships and its assignments. Raises Missing if it is gone."""
    row_lookup.delete(db, "enterprise_team", team, "enterprise team")
