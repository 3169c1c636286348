"""Seats for the coding assistant.

A user of an organization has one seat: a personal one, or through a team, or as a member. A
cancelled seat ends with the billing cycle.
"""

from collections.abc import Collection, Mapping

from store.accounts import organizations, teams
from store.assistant import seat_rows
from store.assistant.assistant_subscriptions import ALL, cycle
from store.database import paging
from store.database.connection import Connection, Row, json_array
from store.jobs import jobs

# A seat that has ended does not count, even if the worker has not removed it yet.
LIVE = "(expires_at IS NULL OR expires_at > :now)"


def page(db: Connection, organization_id: int, *, limit: int, offset: int) -> list[Row]:
    """Return a page of an organization's seats, oldest first."""
    return paging.page(
        db,
        f"SELECT {seat_rows.COLUMNS} FROM assistant_seat"
        f" WHERE organization_id = :organization_id AND {LIVE} ORDER BY id",
        limit,
        offset,
        organization_id=organization_id,
    )


def of(db: Connection, organization_id: int, account_id: int) -> Row | None:
    """Return a user's seat in an organization, or None."""
    return db.one(
        f"SELECT {seat_rows.COLUMNS} FROM assistant_seat WHERE organization_id = :organization_id"
        f" AND account_id = :account_id AND {LIVE}",
        organization_id=organization_id,
        account_id=account_id,
    )


def breakdown(db: Connection, organization_id: int) -> Row:
    """Return how many seats there are of each kind in this billing cycle."""
    begins, _ = cycle(db.now)
    row = db.required(
        "SELECT count(*) AS total,"
        " coalesce(sum(CASE WHEN s.created_at >= :begins THEN 1 ELSE 0 END), 0)"
        " AS added_this_cycle,"
        " coalesce(sum(CASE WHEN s.expires_at IS NOT NULL THEN 1 ELSE 0 END), 0)"
        " AS pending_cancellation,"
        " coalesce(sum(CASE WHEN m.account_id IS NULL THEN 1 ELSE 0 END), 0)"
        " AS pending_invitation,"
        " coalesce(sum(CASE WHEN s.active_at >= :begins THEN 1 ELSE 0 END), 0)"
        " AS active_this_cycle"
        " FROM assistant_seat s LEFT JOIN membership m"
        " ON m.organization_id = s.organization_id AND m.account_id = s.account_id"
        f" WHERE s.organization_id = :organization_id AND {LIVE}",
        begins=begins,
        organization_id=organization_id,
    )
    return {**row, "inactive_this_cycle": row["total"] - row["active_this_cycle"]}


def give_users(
    db: Connection, organization_id: int, account_ids: Collection[int]
) -> tuple[list[Row], list[Row]]:
    """Give these users personal seats. Return the new seats and those that no longer end."""
    return _give(db, organization_id, dict.fromkeys(account_ids), personal=True)


def give_teams(
    db: Connection, organization_id: int, team_ids: Collection[int]
) -> tuple[list[Row], list[Row]]:
    """Give each member of these teams a seat. Return the same as `give_users`."""
    db.insert_many(
        "assistant_team",
        "organization_id, team_id",
        [(organization_id, team_id) for team_id in team_ids],
        "ON CONFLICT (organization_id, team_id) DO NOTHING",
    )
    return _give(db, organization_id, teams.member_ids(db, team_ids), personal=False)


def give_members(
    db: Connection, organization_id: int, account_ids: Collection[int] | None = None
) -> tuple[list[Row], list[Row]]:
    """Give seats to these members of the organization (None: all) who have none or an ending one.

    Return the same as `give_users`.
    """
    if account_ids is None:
        account_ids = organizations.member_ids(db, organization_id)
    seats = seat_rows.of_users(db, organization_id, account_ids)
    lasting = {key for key, row in seats.items() if row["expires_at"] is None}
    wanted: dict[int, int | None] = dict.fromkeys(set(account_ids) - lasting)
    return _give(db, organization_id, wanted, personal=False) if wanted else ([], [])


def cancel_members(db: Connection, organization_id: int) -> list[Row]:
    """Cancel seats that are neither personal nor through a team. Return the new cancellations."""
    members = organizations.member_ids(db, organization_id)
    return _cancel(db, organization_id, seat_rows.of_users(db, organization_id, members))


def manage(
    db: Connection, organization_id: int, before: Row | None, after: Row
) -> tuple[list[Row], list[Row], list[Row]]:
    """Adjust the seats to a change of the subscription from `before` (None: new) to `after`.

    Return the new seats, those that no longer end, and the new cancellations.
    """
    if after["seat_management"] == ALL:
        return *give_members(db, organization_id), []
    if before is not None and before["seat_management"] == ALL:
        return [], [], cancel_members(db, organization_id)
    return [], [], []


def _give(
    db: Connection, organization_id: int, wanted: Mapping[int, int | None], *, personal: bool
) -> tuple[list[Row], list[Row]]:
    end(db, organization_id, wanted)
    before = seat_rows.of_users(db, organization_id, wanted)
    missing = {key: team_id for key, team_id in wanted.items() if key not in before}
    seat_rows.insert(db, organization_id, missing, personal)
    seat_rows.keep(db, before.values(), personal)
    seat_rows.assign_teams(db, before.values())
    after = seat_rows.of_users(db, organization_id, wanted)
    new = [row for key, row in after.items() if key not in before]
    refreshed = [after[key] for key, row in before.items() if row["expires_at"] is not None]
    return new, refreshed


def end(
    db: Connection, organization_id: int, account_ids: Collection[int] | Mapping[int, object]
) -> list[Row]:
    """Delete the seats of these users that have ended. Return them.

    The worker has not deleted them yet, so their event is still to be sent.
    """
    seats = seat_rows.of_users(db, organization_id, account_ids).values()
    over = [row for row in seats if row["expires_at"] is not None and row["expires_at"] <= db.now]
    seat_rows.delete(db, [row["id"] for row in over])
    return over


def cancel_users(db: Connection, organization_id: int, account_ids: Collection[int]) -> list[Row]:
    """Cancel these users' seats, except seats through a team. Return the new cancellations."""
    seats = seat_rows.of_users(db, organization_id, account_ids)
    seat_rows.release(db, [row["id"] for row in seats.values()])
    return _cancel(db, organization_id, seats)


def cancel_teams(db: Connection, organization_id: int, team_ids: Collection[int]) -> list[Row]:
    """Cancel the seats of these teams' members. Return the new cancellations.

    Seats through another team and personal seats stay.
    """
    db.delete_many("assistant_team", "team_id", team_ids, organization_id=organization_id)
    holders = _holders(db, organization_id, team_ids)
    return _cancel(db, organization_id, seat_rows.of_users(db, organization_id, holders))


def _holders(db: Connection, organization_id: int, team_ids: Collection[int]) -> list[int]:
    """Return the teams' members, and the users whose seats name the teams."""
    return db.column(
        f"SELECT m.account_id FROM team_member m WHERE m.team_id {db.among('ids')}"
        " UNION SELECT s.account_id FROM assistant_seat s"
        f" WHERE s.organization_id = :organization_id AND s.team_id {db.among('ids')}",
        organization_id=organization_id,
        ids=json_array(team_ids),
    )


def _cancel(db: Connection, organization_id: int, locked: Mapping[int, Row]) -> list[Row]:
    """Cancel the seats that are neither personal nor through a team.

    `locked` has seats by account. Return the new cancellations.
    """
    seat_rows.assign_teams(db, locked.values())
    _, ends = cycle(db.now)
    ending = [
        row
        for row in seat_rows.of_users(db, organization_id, locked).values()
        if row["expires_at"] is None and row["team_id"] is None and not row["personal"]
    ]
    seat_rows.cancel(db, ending, ends)
    if ending:
        jobs.notify_worker(db)
    return [{**row, "expires_at": ends, "updated_at": db.now} for row in ending]
