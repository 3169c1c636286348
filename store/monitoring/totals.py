"""The numbers of accounts, repositories and hooks."""

from store.database.connection import Connection, Row


def count(db: Connection) -> Row:
    """Return the numbers of `accounts`, `repositories` and hooks.

    Hooks are counted as `hooks_active`, `hooks_failing`, `hooks_disabled` and `hooks_paused`.
    """
    return db.required(
        "SELECT (SELECT count(*) FROM account) AS accounts,"
        " (SELECT count(*) FROM repository) AS repositories,"
        " count(CASE WHEN active = 1 THEN 1 END) AS hooks_active,"
        " count(failing_since) AS hooks_failing, count(disabled_reason) AS hooks_disabled,"
        " count(paused_at) AS hooks_paused FROM hook WHERE deleted_at IS NULL"
    )
