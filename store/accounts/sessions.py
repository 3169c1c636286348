"""Sessions of the dashboard: the credential that opened each, and its end.

Only a digest of the cookie's value is stored. If its credential ends, the session ends with it.
"""

import hashlib
import secrets

from store.accounts import tokens
from store.clock import SECOND
from store.database.connection import Connection, Row

LONGEST = 7 * 24 * 3600 * SECOND
# The use of a session is recorded at most this often, and not with every page.
NOTED = 300 * SECOND


def digest(value: str) -> str:
    """Return the digest under which a cookie's or link's value is stored."""
    return hashlib.sha256(value.encode()).hexdigest()


def begin(
    db: Connection,
    *,
    token_id: int | None = None,
    operator: str | None = None,
    link_id: int | None = None,
    until: int | None = None,
) -> str:
    """Open a session with one credential. Return the value for the cookie.

    The session ends after seven days, or earlier at `until` (microseconds).
    """
    value = secrets.token_urlsafe(32)
    longest = db.now + LONGEST
    db.execute(
        "INSERT INTO ui_session (id, token_id, token_hash, operator, link_id, created_at, seen_at,"
        " expires_at) VALUES (:id, :token_id, (SELECT hash FROM token WHERE id = :token_id),"
        " :operator, :link_id, :now, :now, :expires_at)",
        id=digest(value),
        token_id=token_id,
        operator=operator,
        link_id=link_id,
        now=db.now,
        expires_at=longest if until is None else min(until, longest),
    )
    return value


def find(db: Connection, value: str, idle: int) -> Row | None:
    """Return the session of this cookie, or None.

    It has the `token` as `tokens.find` returns it, the `hook_id` if a link opened it, and
    `seen_at`. Return None if it has ended or was not used for `idle` microseconds.
    """
    row = db.one(
        "SELECT s.token_id, s.operator, s.link_id, s.seen_at, l.hook_id, t.hash"
        " FROM ui_session s LEFT JOIN token t ON t.id = s.token_id AND t.hash = s.token_hash"
        " LEFT JOIN hook_link l ON l.id = s.link_id AND l.expires_at > :now"
        " WHERE s.id = :id AND s.expires_at > :now AND s.seen_at > :since",
        id=digest(value),
        now=db.now,
        since=db.now - idle,
    )
    if row is None or (row["link_id"] is not None and row["hook_id"] is None):
        return None
    hashed = row.pop("hash")
    row["token"] = None if hashed is None else tokens.by_hash(db, hashed)
    return None if row["token_id"] is not None and row["token"] is None else row


def touch(db: Connection, value: str) -> None:
    """Record that a session was used."""
    db.execute("UPDATE ui_session SET seen_at = :now WHERE id = :id", id=digest(value), now=db.now)


def end(db: Connection, value: str) -> bool:
    """End a session. Return False if there is none."""
    return db.execute("DELETE FROM ui_session WHERE id = :id", id=digest(value)) > 0


def forget(db: Connection) -> None:
    """Delete expired sessions and links."""
    for table in ("ui_session", "hook_link"):
        db.execute(f"DELETE FROM {table} WHERE expires_at <= :now", now=db.now)
