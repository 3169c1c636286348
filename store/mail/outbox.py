"""The outbox: a row for each mail, from before it is sent until its retention ends.

An attempt is counted, and the next one scheduled, before the mail is sent. So a crash loses no
mail. If the process ends after the server has accepted a mail and before this is recorded, the mail
is sent again, with the same Message-ID.
"""

from store.clock import DAY, HOUR, MINUTE, SECOND
from store.database import uuid7
from store.database.backoff import backoff_delay
from store.database.connection import Connection, Row
from store.database.list_order import Matches
from store.database.newest_rows import NewestRows
from store.database.time_range import ALWAYS, TimeRange

ALERTS, TEST = "alerts", "test"
SENT, FAILED, DELAYED, WAITING = "sent", "failed", "delayed", "waiting"
COLUMNS = (
    "x.id, x.kind, x.account_id, x.address, x.guid, x.created_at, x.due_at, x.attempts, x.error,"
    " x.outcome, x.ended_at, a.login"
)
FROM = "FROM mail x LEFT JOIN account a ON a.id = x.account_id"
GIVE_UP = DAY
"""A mail that could not be sent for this long has failed."""
# Seconds between two attempts, at first and at most.
FIRST_DELAY, LONGEST_DELAY = 60.0, 3600.0
# How long mails wait if the server cannot be used.
SERVER_DELAY = 2 * MINUTE
LONGEST_ERROR = 300
OVERDUE = "no worker could send it for a day"


def add(db: Connection, kind: str, address: str, account_id: int | None = None) -> int:
    """Add a mail, which is due at once. Return its id."""
    row = db.required(
        "INSERT INTO mail (kind, account_id, address, guid, created_at, due_at)"
        " VALUES (:kind, :account_id, :address, :guid, :now, :now) RETURNING id",
        kind=kind,
        account_id=account_id,
        address=address,
        guid=uuid7.new(),
    )
    return int(row["id"])


def free_at(db: Connection, per_hour: int, total_per_hour: int, account_id: int) -> int:
    """Return when the limits of an hour allow another mail to an account; 0 if they do now."""
    return max(
        _free_at(db, per_hour, " AND account_id = :account_id", account_id=account_id),
        _free_at(db, total_per_hour),
    )


def _free_at(db: Connection, limit: int, where: str = "", **given: int) -> int:
    """Return when the oldest of the latest `limit` mails is an hour old; 0 if there are fewer.

    Mails that a fast clock has made do not count.
    """
    found = db.optional_number(
        f"SELECT created_at FROM mail WHERE created_at > :since AND created_at <= :now{where}"
        " ORDER BY created_at DESC LIMIT 1 OFFSET :skipped",
        since=db.now - HOUR,
        skipped=limit - 1,
        **given,
    )
    return 0 if found is None else found + HOUR


def next_due(db: Connection) -> int | None:
    """Return when the next mail is due, or None."""
    return db.optional_number("SELECT min(due_at) FROM mail WHERE due_at IS NOT NULL")


def list_due(db: Connection, limit: int) -> list[Row]:
    """Return mails that are due, the ones that are due longest first."""
    return db.all(
        f"SELECT {COLUMNS} {FROM} WHERE x.due_at <= :now ORDER BY x.due_at, x.id LIMIT :limit",
        limit=limit,
    )


def claim(db: Connection, mail: Row, hold: int) -> bool:
    """Count an attempt that begins now. Return False if another process has begun one.

    The next attempt is not due before `hold` microseconds have passed.
    """
    delay = backoff_delay(mail["attempts"] + 1, first=FIRST_DELAY, longest=LONGEST_DELAY)
    claimed = db.execute(
        "UPDATE mail SET attempts = attempts + 1, due_at = :due_at WHERE id = :id"
        " AND due_at IS NOT NULL AND attempts = :attempts",
        id=mail["id"],
        attempts=mail["attempts"],
        due_at=db.now + max(round(delay * SECOND), hold),
    )
    return claimed > 0


def set_address(db: Connection, mail_id: int, address: str) -> None:
    """Send a mail to another address."""
    db.update("mail", mail_id, address=address)


def record_sent(db: Connection, mail_id: int) -> None:
    """Record that the server has accepted a mail."""
    _end(db, mail_id, SENT, None)


def record_failed(db: Connection, mail_id: int, error: str) -> None:
    """Record that a mail cannot be sent, and why."""
    _end(db, mail_id, FAILED, error)


def record_error(db: Connection, mail: Row, error: str) -> bool:
    """Record why an attempt failed. Return whether the mail is tried again.

    A test message is tried once, because somebody waits for the result.
    """
    if mail["kind"] == TEST or mail["created_at"] <= db.now - GIVE_UP:
        record_failed(db, mail["id"], error)
        return False
    db.execute(
        "UPDATE mail SET error = :error WHERE id = :id AND due_at IS NOT NULL",
        id=mail["id"],
        error=error[:LONGEST_ERROR],
    )
    return True


def _end(db: Connection, mail_id: int, outcome: str, error: str | None) -> None:
    db.execute(
        "UPDATE mail SET outcome = :outcome, ended_at = :now, due_at = NULL, error = :error"
        " WHERE id = :id AND due_at IS NOT NULL",
        id=mail_id,
        outcome=outcome,
        error=None if error is None else error[:LONGEST_ERROR],
    )


def postpone_due(db: Connection, error: str) -> tuple[int, int]:
    """Postpone all mails that are due, because the server cannot be used now.

    Mails that have waited for too long fail, and so do test messages. Return how many are postponed
    and how many failed.
    """
    reason = error[:LONGEST_ERROR]
    failed = db.execute(
        "UPDATE mail SET outcome = :failed, ended_at = :now, due_at = NULL, error = :error"
        " WHERE due_at <= :now AND (created_at <= :old OR kind = :test)",
        failed=FAILED,
        test=TEST,
        error=reason,
        old=db.now - GIVE_UP,
    )
    postponed = db.execute(
        "UPDATE mail SET due_at = :later, error = :error WHERE due_at <= :now",
        later=db.now + SERVER_DELAY,
        error=reason,
    )
    return postponed, failed


def fail_overdue(db: Connection) -> int:
    """Fail the mails that have been due for a day. Return their number.

    No worker ran, or `mail_host` was not set. The news in them is old by now.
    """
    return db.execute(
        "UPDATE mail SET outcome = :failed, ended_at = :now, due_at = NULL, error = :error"
        " WHERE due_at < :old",
        failed=FAILED,
        error=OVERDUE,
        old=db.now - GIVE_UP,
    )


def get(db: Connection, mail_id: int) -> Row | None:
    """Return a mail with its receiver's `login`, or None."""
    return db.one(f"SELECT {COLUMNS} {FROM} WHERE x.id = :id", id=mail_id)


def list_recent(
    db: Connection, limit: int, before: int | None = None, times: TimeRange = ALWAYS
) -> list[Row]:
    """Return the latest mails, newest first: below the id `before`, and made in a time."""
    return NewestRows(db, "mail", times, before).page(f"SELECT {COLUMNS} {FROM}", limit)


def count(db: Connection, times: TimeRange) -> Matches:
    """Return the number of mails that were made in a time."""
    return NewestRows(db, "mail", times).count()


def count_unsent(db: Connection, since: int) -> int:
    """Return how many mails failed since a time, or wait after an attempt that failed."""
    return db.number(
        "SELECT (SELECT count(*) FROM mail WHERE ended_at > :since AND outcome = :failed)"
        " + (SELECT count(*) FROM mail WHERE due_at IS NOT NULL AND error IS NOT NULL)",
        since=since,
        failed=FAILED,
    )


def drop(db: Connection, before: int, limit: int) -> int:
    """Delete mails that ended before a time, up to a limit. Return their number."""
    chosen = (
        "SELECT x.id FROM mail x WHERE x.ended_at < :before ORDER BY x.ended_at, x.id LIMIT :limit"
    )
    return db.execute(f"DELETE FROM mail WHERE id {db.chosen(chosen)}", before=before, limit=limit)


def state_of(mail: Row) -> str:
    """Return `sent`, `failed`, `delayed` after an attempt that failed, or `waiting`."""
    if mail["outcome"] is not None:
        return str(mail["outcome"])
    return WAITING if mail["error"] is None else DELAYED
