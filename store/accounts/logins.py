"""Logins that failed of late, counted by whatever names who tried: a login, an address."""

from store.clock import SECOND
from store.database.connection import Connection


def failed(db: Connection, who: str, seconds: float) -> int:
    """Count one more; returns how many there are since the first of the last `seconds`."""
    times: int = db.value(
        "INSERT INTO failed_login (who, times, since) VALUES (:who, 1, :now)"
        " ON CONFLICT (who) DO UPDATE SET"
        " times = CASE WHEN failed_login.since > :begin THEN failed_login.times + 1 ELSE 1 END,"
        " since = CASE WHEN failed_login.since > :begin THEN failed_login.since ELSE :now END"
        " RETURNING times",
        who=who,
        now=db.now,
        begin=_begin(db, seconds),
    )
    return times


def times(db: Connection, who: str, seconds: float) -> int:
    """How many there are in the last `seconds`."""
    found: int | None = db.value(
        "SELECT times FROM failed_login WHERE who = :who AND since > :begin",
        who=who,
        begin=_begin(db, seconds),
    )
    return found or 0


def succeeded(db: Connection, who: str) -> None:
    """Forget the failures: it was the right one after all."""
    db.execute("DELETE FROM failed_login WHERE who = :who", who=who)


def undo(db: Connection, who: str, counted_at: int) -> None:
    """Take back one that was counted then (microseconds): it was no failure, and the others stay.

    Where its time is over, another count has begun, and that stays as it is.
    """
    db.execute(
        "UPDATE failed_login SET times = times - 1"
        " WHERE who = :who AND times > 0 AND since <= :counted_at",
        who=who,
        counted_at=counted_at,
    )


def forget(db: Connection, seconds: float) -> int:
    """Drop those that began longer ago; returns how many."""
    return db.execute("DELETE FROM failed_login WHERE since <= :begin", begin=_begin(db, seconds))


def _begin(db: Connection, seconds: float) -> int:
    return db.now - round(seconds * SECOND)
