"""Sessions of the dashboard: who is signed in, by what, and for how long.

What the cookie holds is not kept, only its digest. A session ends with what it was opened with.
"""

import hashlib
import secrets

from store.accounts import tokens
from store.clock import SECOND
from store.database.connection import Connection, Row

LONGEST = 7 * 24 * 3600 * SECOND
# A session that is used is written down as such so often, and not with every page.
NOTED = 300 * SECOND


def digest(value: str) -> str:
    """How what a cookie or a link holds is stored."""
    return hashlib.sha256(value.encode()).hexdigest()


def begin(
    db: Connection,
    *,
    token_id: int | None = None,
    operator: str | None = None,
    link_id: int | None = None,
    until: int | None = None,
) -> str:
    """Open a session with one of these; returns what the cookie is to hold. It ends by `until`
    (microseconds), and after seven days.
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
    """The session with its token as `tokens.find` gives it in `token`, its `hook_id` where it was
    opened with a link, and `seen_at`. None where it has ended, or was not used for `idle`
    microseconds.
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
    """Write down that a session was used."""
    db.execute("UPDATE ui_session SET seen_at = :now WHERE id = :id", id=digest(value), now=db.now)


def end(db: Connection, value: str) -> bool:
    """End a session; False if there was none."""
    return db.execute("DELETE FROM ui_session WHERE id = :id", id=digest(value)) > 0


def forget(db: Connection) -> None:
    """Let go of sessions and links whose time is over."""
    for table in ("ui_session", "hook_link"):
        db.execute(f"DELETE FROM {table} WHERE expires_at <= :now", now=db.now)
