"""The members of an enterprise's teams."""

from collections.abc import Collection

from store.accounts import accounts, teams
from store.database import paging
from store.database.connection import ENDLESS, Connection, Row, json_array

IN_TEAM = (
    "FROM enterprise_team_member m JOIN account a ON a.id = m.account_id WHERE m.team_id = :team_id"
)


def page(db: Connection, team_id: int, *, limit: int, offset: int) -> list[Row]:
    """Return a page of the team's members, by id."""
    return paging.page(
        db,
        f"SELECT {accounts.OF_JOINED} {IN_TEAM} ORDER BY m.account_id",
        limit,
        offset,
        team_id=team_id,
    )


def count(db: Connection, team_id: int, most: int = ENDLESS) -> int:
    """Return how many members the team has, counted up to `most`."""
    return paging.count(
        db,
        "SELECT account_id FROM enterprise_team_member WHERE team_id = :team_id",
        most,
        team_id=team_id,
    )


def among(db: Connection, team: Row, account_ids: Collection[int]) -> set[int]:
    found = db.column(
        "SELECT m.account_id FROM enterprise_team_member m WHERE m.team_id = :team_id"
        f" AND m.account_id {db.among('ids')}",
        team_id=team["id"],
        ids=json_array(account_ids),
    )
    return set(found)


def users(db: Connection, logins: Collection[str]) -> list[Row]:
    """Return the users with these logins, by id. Organizations are left out."""
    found = accounts.users_by_login(db, logins)
    return sorted(found.values(), key=lambda row: int(row["id"]))


def add(db: Connection, team: Row, account_ids: Collection[int]) -> None:
    """Add members who are not in the team yet."""
    added = db.insert_many(
        "enterprise_team_member",
        "team_id, account_id, created_at",
        [(team["id"], account_id, db.now) for account_id in account_ids],
        "ON CONFLICT (team_id, account_id) DO NOTHING RETURNING team_id",
    )
    _count(db, team, len(added))


def remove(db: Connection, team: Row, account_ids: Collection[int]) -> None:
    table = "enterprise_team_member"
    _count(db, team, -db.delete_many(table, "account_id", account_ids, team_id=team["id"]))


def _count(db: Connection, team: Row, number: int) -> None:
    teams.count_members(db, "enterprise_team", {team["id"]: number})
