"""The rows of seats. A function that adds or deletes seats, or changes their end, also updates the
tally.
"""

from collections import Counter
from collections.abc import Collection, Mapping

from store.assistant import assistant_subscriptions, seat_tally
from store.database.connection import Connection, Row, json_array

COLUMNS = (
    "id, organization_id, account_id, team_id, personal, created_at, updated_at, expires_at,"
    " active_at, editor, authenticated_at"
)
THROUGH = (
    "FROM assistant_team t JOIN team_member m ON m.team_id = t.team_id"
    " WHERE t.organization_id = assistant_seat.organization_id"
    " AND m.account_id = assistant_seat.account_id"
)
"""SQL for the teams with the subscription that have the seat's user as a member."""


def of_users(
    db: Connection, organization_id: int, account_ids: Collection[int] | Mapping[int, object]
) -> dict[int, Row]:
    """Return account id to seat, and lock these seats, with the organization's subscription."""
    assistant_subscriptions.alone(db, organization_id)
    rows = db.all(
        f"SELECT {COLUMNS} FROM assistant_seat WHERE organization_id = :organization_id"
        f" AND account_id {db.among('ids')}"
        f" ORDER BY id{db.for_update}",
        organization_id=organization_id,
        ids=json_array(account_ids),
    )
    return {row["account_id"]: row for row in rows}


def insert(
    db: Connection, organization_id: int, team_ids: Mapping[int, int | None], personal: bool
) -> None:
    """Create seats that do not end. `team_ids` has the accounts, each with its team or None."""
    db.insert_many(
        "assistant_seat",
        "organization_id, account_id, team_id, personal, created_at, updated_at",
        [
            (organization_id, account_id, team_id, int(personal), db.now, db.now)
            for account_id, team_id in team_ids.items()
        ],
    )
    seat_tally.add(db, Counter({(organization_id, seat_tally.NEVER): len(team_ids)}))


def delete(db: Connection, ids: Collection[int]) -> None:
    if ids:
        deleted = db.all(
            f"DELETE FROM assistant_seat WHERE id {db.among('ids')} RETURNING {COLUMNS}",
            ids=json_array(ids),
        )
        seat_tally.subtract(db, deleted)


def forget(db: Connection, account_id: int) -> None:
    """Delete all seats of an account before the account is deleted.

    Deleting the account alone would leave the tally of seats wrong.
    """
    deleted = db.all(
        f"DELETE FROM assistant_seat WHERE account_id = :account_id RETURNING {COLUMNS}",
        account_id=account_id,
    )
    seat_tally.subtract(db, deleted)


def drop(db: Connection, organization_id: int, limit: int) -> int:
    """Delete up to `limit` seats of an organization. Return their number."""
    chosen = db.column(
        "SELECT id FROM assistant_seat WHERE organization_id = :id ORDER BY id LIMIT :limit",
        id=organization_id,
        limit=limit,
    )
    delete(db, chosen)
    return len(chosen)


def keep(db: Connection, rows: Collection[Row], personal: bool) -> None:
    """Undo the cancellation of locked seats. If `personal`, they become personal.

    Seats that stay the same keep their `updated_at`.
    """
    changed = [
        row for row in rows if row["expires_at"] is not None or (personal and not row["personal"])
    ]
    value = "1" if personal else "personal"
    db.execute(
        f"UPDATE assistant_seat SET personal = {value}, expires_at = NULL, updated_at = :now"
        f" WHERE id {db.among('ids')}",
        ids=json_array(row["id"] for row in changed),
    )
    seat_tally.move(db, changed, None)


def release(db: Connection, ids: Collection[int]) -> None:
    """Make seats no longer personal."""
    db.execute(
        f"UPDATE assistant_seat SET personal = 0 WHERE id {db.among('ids')}",
        ids=json_array(ids),
    )


def assign_teams(db: Connection, rows: Collection[Row]) -> None:
    """Let locked seats name a team that gives them. The present team stays if it is one.

    Without such a team, they name none. A personal seat without a team stays as it is.
    """
    db.execute(
        f"UPDATE assistant_seat SET team_id = (SELECT min(t.team_id) {THROUGH}),"
        f" updated_at = :now WHERE id {db.among('ids')} AND CASE WHEN team_id IS NULL"
        f" THEN personal = 0 AND EXISTS (SELECT 1 {THROUGH})"
        f" ELSE NOT EXISTS (SELECT 1 {THROUGH} AND t.team_id = assistant_seat.team_id) END",
        ids=json_array(row["id"] for row in rows),
    )


def cancel(db: Connection, rows: Collection[Row], ends: int) -> None:
    """Let locked seats end at this time."""
    db.execute(
        "UPDATE assistant_seat SET expires_at = :ends, updated_at = :now"
        f" WHERE id {db.among('ids')}",
        ids=json_array(row["id"] for row in rows),
        ends=ends,
    )
    seat_tally.move(db, rows, ends)
