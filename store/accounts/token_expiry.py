"""The removal of expired tokens. They have no effect from their expiry on."""

from collections.abc import Sequence

from store.accounts.authorizations import SELECT, decode_row
from store.database.connection import Connection, Row, json_array


def next_due(db: Connection) -> int | None:
    """Return the earliest expiry of any token, or None. It may be in the past."""
    return db.optional_number(
        "SELECT expires_at FROM token WHERE expires_at IS NOT NULL ORDER BY expires_at LIMIT 1"
    )


def expire(db: Connection, limit: int) -> Sequence[Row]:
    """Remove up to `limit` expired tokens, earliest first. Return them as authorizations."""
    rows = db.all(
        f"{SELECT} WHERE t.expires_at <= :now ORDER BY t.expires_at, t.id LIMIT :limit", limit=limit
    )
    removed = set(
        db.column(
            f"DELETE FROM token WHERE id {db.among('ids')} RETURNING id",
            ids=json_array(row["id"] for row in rows),
        )
    )
    ended = [decode_row(row) for row in rows if row["id"] in removed]
    _touch_grants(db, ended)
    return ended


def _touch_grants(db: Connection, rows: Sequence[Row]) -> None:
    """Update the grants from which these tokens came."""
    pairs = {(row["app_id"], row["account_id"]) for row in rows if row["app_id"] is not None}
    if pairs:
        db.execute(
            "UPDATE app_grant SET updated_at = :now WHERE id IN (SELECT g.id"
            f" FROM {db.each('pairs', app_id='integer', account_id='integer')} AS w"
            " JOIN app_grant g ON g.app_id = w.app_id AND g.account_id = w.account_id)",
            pairs=json_array(pairs),
        )
