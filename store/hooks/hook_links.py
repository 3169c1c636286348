"""Links with which a person without an account can view one hook for a while, and change nothing.

Only a digest of a link's secret value is kept.
"""

import secrets

from store.accounts.tokens import digest
from store.clock import DAY, HOUR
from store.database.connection import Connection, Row
from store.errors import Invalid

LONGEST = 30 * DAY
TOLERANCE = HOUR
# A link that ends later than any can was made while the clock was fast, and has ended.
LIVE = f"expires_at > :now AND expires_at <= :now + {LONGEST + TOLERANCE}"
MOST = 50
COLUMNS = "id, hook_id, note, made_by, created_at, expires_at"


def create(db: Connection, hook_id: int, note: str, made_by: str, lasting: int) -> tuple[str, Row]:
    """Create a link that is valid for `lasting` microseconds. Return its secret value and its row.

    The value is not stored. Raises Invalid if the link would last longer than 30 days, or if the
    hook has 50 links.
    """
    if not 0 < lasting <= LONGEST:
        raise Invalid("a link can be valid for at most 30 days")
    if len(list_active(db, hook_id)) >= MOST:
        raise Invalid(f"a hook has at most {MOST} links; revoke one first")
    value = secrets.token_urlsafe(32)
    row = db.required(
        "INSERT INTO hook_link (hook_id, hash, note, made_by, created_at, expires_at)"
        f" VALUES (:hook_id, :hash, :note, :made_by, :now, :expires_at) RETURNING {COLUMNS}",
        hook_id=hook_id,
        hash=digest(value),
        note=note[:100],
        made_by=made_by,
        expires_at=db.now + lasting,
    )
    return value, row


def get_by_value(db: Connection, value: str) -> Row | None:
    """Return the link with this secret value and its hook's `url`, or None if it is not valid."""
    return db.one(
        "SELECT l.id, l.hook_id, l.note, l.expires_at, h.url FROM hook_link l"
        " JOIN hook h ON h.id = l.hook_id AND h.deleted_at IS NULL"
        f" WHERE l.hash = :hash AND {LIVE}",
        hash=digest(value),
    )


def list_active(db: Connection, hook_id: int) -> list[Row]:
    """Return a hook's valid links, newest first."""
    return db.all(
        f"SELECT {COLUMNS} FROM hook_link WHERE hook_id = :hook_id AND {LIVE} ORDER BY id DESC",
        hook_id=hook_id,
    )


def revoke(db: Connection, hook_id: int, link_id: int) -> bool:
    """Delete one of a hook's links, which ends its sessions. Return False if there is none."""
    return db.delete("hook_link", id=link_id, hook_id=hook_id) > 0


def forget(db: Connection) -> None:
    """Delete links that have ended, and with them the sessions that they opened."""
    db.execute(f"DELETE FROM hook_link WHERE NOT ({LIVE})")
