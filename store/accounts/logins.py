"""Recent failed logins, counted by login or by address."""

from store.clock import SECOND
from store.database.connection import Connection

# A time that is too far ahead was written by a clock that was fast. It would count until then.
RECENT = "failed_login.since > :begin AND failed_login.since <= :end"


def failed(db: Connection, who: str, seconds: float) -> int:
    """Count a failed login. Return how many there are since the first in the last `seconds`."""
    return db.number(
        "INSERT INTO failed_login (who, times, since) VALUES (:who, 1, :now)"
        " ON CONFLICT (who) DO UPDATE SET"
        f" times = CASE WHEN {RECENT} THEN failed_login.times + 1 ELSE 1 END,"
        f" since = CASE WHEN {RECENT} THEN failed_login.since ELSE :now END"
        " RETURNING times",
        who=who,
        **_bounds(db, seconds),
    )


def times(db: Connection, who: str, seconds: float) -> int:
    """Return how many failed logins there are in the last `seconds`."""
    found = db.optional_number(
        f"SELECT times FROM failed_login WHERE who = :who AND {RECENT}",
        who=who,
        **_bounds(db, seconds),
    )
    return found or 0


def succeeded(db: Connection, who: str) -> None:
    """Delete the count after a successful login."""
    db.delete("failed_login", who=who)


def undo(db: Connection, who: str, counted_at: int) -> None:
    """Subtract one failed login that was counted at `counted_at` (microseconds).

    If that count has expired and a new one has begun, nothing changes.
    """
    db.execute(
        "UPDATE failed_login SET times = times - 1"
        " WHERE who = :who AND times > 0 AND since <= :counted_at",
        who=who,
        counted_at=counted_at,
    )


def forget(db: Connection, seconds: float) -> int:
    """Delete the counts that began more than `seconds` ago or ahead. Return how many."""
    return db.execute(f"DELETE FROM failed_login WHERE NOT ({RECENT})", **_bounds(db, seconds))


def _bounds(db: Connection, seconds: float) -> dict[str, int]:
    span = round(seconds * SECOND)
    return {"begin": db.now - span, "end": db.now + span}
