"""The organizations of an enterprise to which its teams are assigned.

A team is assigned to none, to all, or to selected organizations. Adding to none or removing from
all makes a selection.
"""

from collections.abc import Collection

from store.accounts import accounts
from store.database import paging
from store.database.connection import ENDLESS, Connection, Row, json_array
from store.enterprises import enterprise_teams

JOINED = "FROM enterprise_organization o JOIN account a ON a.id = o.organization_id"
SELECTED = (
    "FROM enterprise_team_organization o JOIN account a ON a.id = o.organization_id"
    " WHERE o.team_id = :team_id"
)


def _of(team: Row) -> tuple[str, dict[str, int]]:
    if team["selection"] == "all":
        where = f"{JOINED} WHERE o.enterprise_id = :enterprise_id"
        return where, {"enterprise_id": team["enterprise_id"]}
    return SELECTED, {"team_id": team["id"]}


def page(db: Connection, team: Row, *, limit: int, offset: int) -> list[Row]:
    """Return a page of the organizations to which the team is assigned."""
    where, given = _of(team)
    return paging.page(
        db,
        f"SELECT {accounts.OF_JOINED} {where} ORDER BY o.organization_id",
        limit,
        offset,
        **given,
    )


def count(db: Connection, team: Row, most: int = ENDLESS) -> int:
    """Return how many organizations `page` can return, counted up to `most`."""
    where, given = _of(team)
    return paging.count(db, f"SELECT o.organization_id {where}", most, **given)


def among(db: Connection, team: Row, organization_ids: Collection[int]) -> set[int]:
    where, given = _of(team)
    found = db.column(
        f"SELECT o.organization_id {where} AND o.organization_id {db.among('ids')}",
        ids=json_array(organization_ids),
        **given,
    )
    return set(found)


def candidate(db: Connection, team_id: int, login: str) -> Row | None:
    """Return the organization with this login if it is in the team's enterprise, else None."""
    return db.one(
        f"SELECT {accounts.OF_JOINED} {JOINED} JOIN enterprise_team t"
        " ON t.enterprise_id = o.enterprise_id WHERE t.id = :team_id AND a.login_key = :key",
        team_id=team_id,
        key=login.lower(),
    )


def candidates(db: Connection, enterprise_id: int, logins: Collection[str]) -> list[Row]:
    """Return the enterprise's organizations with these logins, by id."""
    return db.all(
        f"SELECT {accounts.OF_JOINED} {JOINED} JOIN {db.each('logins', login='text')} AS w"
        " ON w.login = a.login_key WHERE o.enterprise_id = :enterprise_id ORDER BY a.id",
        enterprise_id=enterprise_id,
        logins=json_array({login.lower() for login in logins}),
    )


def add(db: Connection, team: Row, organization_ids: Collection[int]) -> None:
    """Assign the team to these organizations, too."""
    if team["selection"] == "all" or not organization_ids:
        return
    enterprise_teams.update(db, team, selection="selected")
    _insert(db, team["id"], organization_ids)


def remove(db: Connection, team: Row, organization_ids: Collection[int]) -> None:
    if team["selection"] == "all" and organization_ids:
        every = db.column(
            "SELECT organization_id FROM enterprise_organization WHERE enterprise_id = :id",
            id=team["enterprise_id"],
        )
        enterprise_teams.update(db, team, selection="selected")
        _insert(db, team["id"], every)
    db.delete_many(
        "enterprise_team_organization", "organization_id", organization_ids, team_id=team["id"]
    )


def _insert(db: Connection, team_id: int, organization_ids: Collection[int]) -> None:
    db.insert_many(
        "enterprise_team_organization",
        "team_id, organization_id",
        [(team_id, organization_id) for organization_id in organization_ids],
        "ON CONFLICT (team_id, organization_id) DO NOTHING",
    )


def clear(db: Connection, team: Row) -> None:
    """Delete the selection."""
    db.delete("enterprise_team_organization", team_id=team["id"])
