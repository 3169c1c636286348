"""Notices: the alerts that an account gets mail about. Those that wait together become one mail."""

from collections.abc import Iterable
from dataclasses import dataclass

from store.alerts import alerts
from store.clock import HOUR
from store.database.connection import Connection, Row, json_array
from store.database.time_range import ALWAYS, TimeRange
from store.mail import outbox, receivers

# The accounts for which one transaction makes mails at most, and the hooks after which it ends.
MOST, MOST_HOOKS = 100, 1_000
_WAITING = "n.mail_id IS NULL"


@dataclass(frozen=True, slots=True)
class MailLimits:
    """The settings of how many mails an hour are made."""

    per_hour: int
    """The limit of mails an hour to one receiver."""
    total_per_hour: int


def add(db: Connection, opened: Iterable[Row], window: int) -> None:
    """Note these alerts for their receivers. Their mails are made after `window` microseconds."""
    of_hooks: dict[int, list[Row]] = {}
    rows = []
    for alert in opened:
        hook_id = alert["hook_id"]
        if hook_id not in of_hooks:
            of_hooks[hook_id] = receivers.of_hook(db, hook_id)
        rows += [(one["id"], alert["id"], db.now, db.now + window) for one in of_hooks[hook_id]]
    db.insert_many("mail_notice", "account_id, alert_id, created_at, due_at", rows)


def next_due(db: Connection) -> int | None:
    """Return when the next mail has to be made, or None."""
    return db.optional_number(f"SELECT min(n.due_at) FROM mail_notice n WHERE {_WAITING}")


def make_mails(db: Connection, limits: MailLimits) -> bool:
    """Make a mail for each account whose notices are due. Return whether some may be left.

    If an account or all of them have reached the limit of an hour, the notices wait until the hour
    has passed.
    """
    account_ids = db.column(
        f"SELECT DISTINCT n.account_id FROM mail_notice n WHERE {_WAITING} AND n.due_at <= :now"
        " ORDER BY n.account_id LIMIT :most",
        most=MOST,
    )
    hooks = 0
    for account_id in account_ids:
        free_at = outbox.free_at(db, limits.per_hour, limits.total_per_hour, account_id)
        if free_at > db.now:
            _postpone(db, account_id, free_at)
        else:
            hooks += _make(db, account_id)
        if hooks >= MOST_HOOKS:
            return True
    return len(account_ids) == MOST


def _make(db: Connection, account_id: int) -> int:
    """Make the mail of an account. Return how many hooks its notices were about."""
    _drop_old(db, account_id)
    hooks = _drop_unwanted(db, account_id)
    address = receivers.address_of(db, account_id)
    waiting = "mail_id IS NULL AND account_id = :account_id"
    if address is None:
        db.execute(f"DELETE FROM mail_notice WHERE {waiting}", account_id=account_id)
    elif db.exists(f"SELECT 1 FROM mail_notice WHERE {waiting} LIMIT 1", account_id=account_id):
        mail_id = outbox.add(db, outbox.ALERTS, address, account_id)
        db.execute(
            f"UPDATE mail_notice SET mail_id = :mail_id WHERE {waiting}",
            mail_id=mail_id,
            account_id=account_id,
        )
    return hooks


def claim(db: Connection, mail: Row, hold: int) -> Row | None:
    """Count an attempt that begins now, as `outbox.claim` does. Return the mail as it is sent now.

    It loses the notices that its receiver must not get by now, and goes to their present address.
    A mail that loses its last notice is deleted: it has not failed. Return None then, and also if
    another process has begun an attempt.
    """
    if not outbox.claim(db, mail, hold):
        return None
    account_id = mail["account_id"]
    if account_id is None:
        return mail
    _drop_unwanted(db, account_id, mail["id"])
    if _drop_if_empty(db, mail["id"]):
        return None
    address = receivers.address_of(db, account_id) or mail["address"]
    if address != mail["address"]:
        outbox.set_address(db, mail["id"], address)
    return {**mail, "address": address}


def _drop_if_empty(db: Connection, mail_id: int) -> bool:
    """Delete a mail without notices. Return whether it had none."""
    gone = db.execute(
        "DELETE FROM mail WHERE id = :id"
        " AND NOT EXISTS (SELECT 1 FROM mail_notice n WHERE n.mail_id = :id)",
        id=mail_id,
    )
    return gone > 0


def _drop_old(db: Connection, account_id: int) -> None:
    """Delete notices that have waited for too long."""
    db.execute(
        "DELETE FROM mail_notice WHERE mail_id IS NULL AND account_id = :account_id"
        " AND created_at <= :old",
        account_id=account_id,
        # A limit may delay a notice by an hour, and the window by a day.
        old=db.now - 2 * outbox.GIVE_UP,
    )


def _drop_unwanted(db: Connection, account_id: int, mail_id: int | None = None) -> int:
    """Delete notices about hooks for which the account gets no mail by now.

    It may have unsubscribed, or no longer administer them. These are the notices of a mail, or
    those that wait. Return how many hooks there were.
    """
    chosen, given = "mail_id IS NULL AND account_id = :of", {"of": account_id}
    if mail_id is not None:
        chosen, given = "mail_id = :of", {"of": mail_id}
    found = db.column(
        "SELECT DISTINCT a.hook_id FROM mail_notice JOIN alert a ON a.id = alert_id"
        f" WHERE {chosen}",
        **given,
    )
    hook_ids = set(found)
    if left := sorted(hook_ids - receivers.hooks_of(db, account_id, hook_ids)):
        db.execute(
            f"DELETE FROM mail_notice WHERE {chosen} AND alert_id IN (SELECT a.id FROM alert a"
            f" WHERE a.hook_id {db.among('left')})",
            left=json_array(left),
            **given,
        )
    return len(hook_ids)


def _postpone(db: Connection, account_id: int, until: int) -> None:
    db.execute(
        "UPDATE mail_notice SET due_at = :until WHERE mail_id IS NULL AND due_at < :until"
        " AND account_id = :account_id",
        until=min(until, db.now + HOUR),
        account_id=account_id,
    )


def end_far_delays(db: Connection, ahead: int, limit: int) -> int:
    """Make notices and mails due now that are due after `ahead`, because the clock was fast.

    `ahead` is a time in microseconds that no delay reaches. Return how many were changed. If fewer
    than `limit`, none is left.
    """
    many = 0
    for table, due_at in (("mail", "n.due_at"), ("mail_notice", f"{_WAITING} AND n.due_at")):
        many += db.execute(
            f"UPDATE {table} SET due_at = :now WHERE id IN"
            f" (SELECT n.id FROM {table} n WHERE {due_at} > :ahead LIMIT :limit)",
            ahead=ahead,
            limit=limit - many,
        )
    return many


def count(db: Connection, mail_id: int) -> int:
    return db.number("SELECT count(*) FROM mail_notice WHERE mail_id = :id", id=mail_id)


def list_mails(
    db: Connection, limit: int, before: int | None = None, times: TimeRange = ALWAYS
) -> list[Row]:
    """Return the latest mails, newest first, each with its `state` and its number of `alerts`.

    `before` is an id, and `times` limits when they were made.
    """
    rows = outbox.list_recent(db, limit, before, times)
    counts = counts_of(db, [row["id"] for row in rows])
    return [
        {**row, "state": outbox.state_of(row), "alerts": counts.get(row["id"], 0)} for row in rows
    ]


def alerts_of(db: Connection, mail_id: int, limit: int) -> list[Row]:
    """Return the first alerts that a mail is about, with their hooks, oldest first."""
    found = db.column(
        "SELECT alert_id FROM mail_notice WHERE mail_id = :mail_id ORDER BY alert_id LIMIT :limit",
        mail_id=mail_id,
        limit=limit,
    )
    return alerts.get_many(db, found)


def counts_of(db: Connection, mail_ids: Iterable[int]) -> dict[int, int]:
    return db.mapping(
        "SELECT n.mail_id, count(*) FROM mail_notice n WHERE n.mail_id"
        f" {db.among('ids')} GROUP BY n.mail_id",
        ids=json_array(mail_ids),
    )
