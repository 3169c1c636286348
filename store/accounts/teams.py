"""The teams of an organization, and their members."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from store.database import row_lookup, upsert
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
    count_teams(db, {(organization_id, row["privacy"]): 1})
    return row


def count_teams(db: Connection, changes: Mapping[tuple[int, str], int]) -> None:
    """Add to the stored numbers of organizations' teams, by privacy."""
    upsert.count_at_commit(db, "team_tally", "organization_id, privacy", "teams", changes)


def count(db: Connection, organization_id: int, viewer: Row) -> int:
    """Return how many teams of an organization a viewer may see.

    `viewer` is an account's `id` and whether it is an `owner`. Others see a secret team only if
    they are in it.
    """
    where = "" if viewer["owner"] else " AND privacy <> 'secret'"
    total = db.number(
        "SELECT CAST(coalesce(sum(teams), 0) AS BIGINT) FROM team_tally"
        f" WHERE organization_id = :id{where}",
        id=organization_id,
    )
    return total if viewer["owner"] else total + _count_secret(db, organization_id, viewer["id"])


def _count_secret(db: Connection, organization_id: int, account_id: int) -> int:
    return db.number(
        "SELECT count(*) FROM team_member m JOIN team t ON t.id = m.team_id"
        " WHERE m.account_id = :account_id AND t.organization_id = :id AND t.privacy = 'secret'",
        id=organization_id,
        account_id=account_id,
    )


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
    _set_privacy(db, team, after["privacy"])
    db.update(
        "team",
        team["id"],
        description=after["description"],
        permission=after["permission"],
        updated_at=db.now,
    )
    return True


def _set_privacy(db: Connection, team: Row, privacy: str) -> None:
    changed = db.execute(
        "UPDATE team SET privacy = :privacy WHERE id = :id AND privacy <> :privacy",
        privacy=privacy,
        id=team["id"],
    )
    if changed:
        former = "closed" if privacy == "secret" else "secret"
        organization_id = team["organization_id"]
        count_teams(db, {(organization_id, privacy): 1, (organization_id, former): -1})


def join(db: Connection, team_id: int, account_ids: Collection[int]) -> bool:
    """Add members to a team. Return False if all of them are members already."""
    added = db.insert_many(
        "team_member",
        "team_id, account_id",
        [(team_id, account_id) for account_id in account_ids],
        "ON CONFLICT (team_id, account_id) DO NOTHING RETURNING team_id",
    )
    count_members(db, "team", Counter(team_id for (team_id,) in added))
    return bool(added)


def count_members(db: Connection, table: str, changes: Mapping[int, int]) -> None:
    """Add to the stored numbers of teams' members. `table` is `team` or `enterprise_team`."""
    for team_id, number in sorted(changes.items()):
        db.execute(
            f"UPDATE {table} SET members = members + :number WHERE id = :id",
            number=number,
            id=team_id,
        )


def leave(db: Connection, organization_id: int, account_id: int) -> None:
    """Take an account out of all teams of an organization."""
    left = db.column(
        "DELETE FROM team_member WHERE account_id = :account_id AND team_id IN"
        " (SELECT t.id FROM team t WHERE t.organization_id = :id) RETURNING team_id",
        id=organization_id,
        account_id=account_id,
    )
    count_members(db, "team", dict.fromkeys(left, -1))


def forget(db: Connection, account_id: int) -> None:
    """Take an account out of all teams before the account is deleted.

    Deleting the account alone would leave the stored numbers of members wrong.
    """
    for table in ("team", "enterprise_team"):
        teams = db.column(
            f"DELETE FROM {table}_member WHERE account_id = :account_id RETURNING team_id",
            account_id=account_id,
        )
        count_members(db, table, dict.fromkeys(teams, -1))


def drop(db: Connection, organization_id: int, limit: int) -> int:
    """Delete up to `limit` members of an organization's teams, and teams. Return their number."""
    own = "(SELECT t.id FROM team t WHERE t.organization_id = :id)"
    left = db.column(
        "DELETE FROM team_member WHERE (team_id, account_id) IN (SELECT team_id, account_id"
        f" FROM team_member WHERE team_id IN {own} LIMIT :limit) RETURNING team_id",
        id=organization_id,
        limit=limit,
    )
    count_members(db, "team", {team_id: -number for team_id, number in Counter(left).items()})
    deleted = db.column(
        "DELETE FROM team WHERE id IN"
        " (SELECT id FROM team WHERE organization_id = :id LIMIT :limit) RETURNING privacy",
        id=organization_id,
        limit=limit - len(left),
    )
    count_teams(
        db, {(organization_id, privacy): -number for privacy, number in Counter(deleted).items()}
    )
    return len(left) + len(deleted)


def member_ids(db: Connection, team_ids: Iterable[int]) -> dict[int, int]:
    """Return the members of these teams: account id to the id of one of their teams."""
    return db.mapping(
        "SELECT m.account_id, min(m.team_id) FROM team_member m WHERE m.team_id"
        f" {db.among('ids')} GROUP BY m.account_id",
        ids=json_array(team_ids),
    )
