"""The accounts that have unsubscribed from mails about hooks. Without a row, owners get mails."""

from collections.abc import Collection

from store.alerts.alerts import INSTALLATION
from store.database.connection import Connection, Row, json_array
from store.hooks.hook_targets import NAMED, NAMES, name_of
from store.mail import receivers
from store.monitoring.name_search import host_of

# The limit of hooks in the list from which an account has unsubscribed.
MOST = 500


def unsubscribe(db: Connection, account_id: int, hook_ids: Collection[int]) -> int:
    """Send an account no more mails about these hooks. Return how many it was subscribed to.

    The hook 0 stands for the whole installation.
    """
    made = db.insert_many(
        "mail_unsubscribed",
        "account_id, hook_id, created_at",
        [(account_id, hook_id, db.now) for hook_id in sorted(hook_ids)],
        "ON CONFLICT (account_id, hook_id) DO NOTHING RETURNING hook_id",
    )
    return len(made)


def subscribe(db: Connection, account_id: int, hook_ids: Collection[int]) -> int:
    """Send an account mails about these hooks again. Return from how many it had unsubscribed."""
    return db.delete_many("mail_unsubscribed", "hook_id", hook_ids, account_id=account_id)


def unsubscribed(db: Connection, account_id: int, hook_ids: Collection[int]) -> set[int]:
    """Return the hooks among these from which an account has unsubscribed."""
    rows = db.column(
        "SELECT hook_id FROM mail_unsubscribed WHERE account_id = :account_id AND hook_id"
        f" {db.among('ids')}",
        account_id=account_id,
        ids=json_array(hook_ids),
    )
    return set(rows)


def names_of(db: Connection, account_id: int, hook_ids: Collection[int]) -> dict[int, str]:
    """Return the names of these hooks for an account: `hook 7 of octo/hello (ci.example)`.

    If the account does not administer a hook any more, its name is only `hook 7`. Hooks that are
    gone are left out.
    """
    rows = db.all(
        f"SELECT h.id, h.url, {NAMES} FROM hook h{NAMED} WHERE h.deleted_at IS NULL AND h.id"
        f" {db.among('ids')} ORDER BY h.id",
        ids=json_array(hook_ids),
    )
    seen = receivers.hooks_of_administrator(db, account_id, hook_ids)
    whole = {INSTALLATION: "the whole installation"} if INSTALLATION in hook_ids else {}
    return whole | {row["id"]: _name(row, seen) for row in rows}


def _name(row: Row, seen: Collection[int]) -> str:
    plain = f"hook {row['id']}"
    return f"{plain} of {name_of(row)} ({host_of(row['url'])})" if row["id"] in seen else plain


def list_left(db: Connection, account_id: int) -> list[Row]:
    """Return `hook_id` and `name` of the hooks from which an account has unsubscribed."""
    found = db.column(
        "SELECT hook_id FROM mail_unsubscribed WHERE account_id = :account_id"
        " ORDER BY hook_id DESC LIMIT :most",
        account_id=account_id,
        most=MOST,
    )
    names = names_of(db, account_id, found)
    return [{"hook_id": hook_id, "name": name} for hook_id, name in names.items()]
