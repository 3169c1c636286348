"""The operator's SQL shell: one statement on a connection that cannot write."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sqlite_utils import Database

from store.database import body_codec, shell_commands
from store.database.encrypted_columns import ENCRYPTED_COLUMNS
from store.database.sqlite.engine import SqliteEngine
from store.database.sqlite.file import open_read_only
from store.database.store import Store
from store.errors import Invalid, Unprepared

# Columns that read as NULL here, because they hold secrets or their hashes.
UNSEEN = {
    ("account", "password_hash"),
    ("token", "hash"),
    ("app", "secret_hash"),
    ("app_manifest", "code_hash"),
    ("hook_link", "hash"),
    ("ui_session", "id"),
    ("ui_session", "token_hash"),
    ("ui_session", "operator"),
    *((one.table, one.column) for one in ENCRYPTED_COLUMNS),
}
ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
# SQLite does not ask the authorizer about a column that these joins merge.
MERGING, OUTER = {"USING", "NATURAL"}, {"FULL", "RIGHT"}
# Texts, quoted names and comments, in which words are no keywords.
QUOTED = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`|\[[^]]*]|--[^\n]*|/\*.*?(?:\*/|\Z)""", re.DOTALL)
# The steps of SQLite's machine between two calls of Python, a few milliseconds.
STEPS = 100_000
PRAGMAS = {
    "table_list",
    "table_info",
    "table_xinfo",
    "index_list",
    "index_info",
    "foreign_key_list",
    "schema_version",
}


def query(
    store: Store, statement: str, limit: int, stopped: Callable[[], bool] = lambda: False
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run one statement, or a command of `shell_commands`. Return column names and `limit` rows.

    `stopped` is asked again and again while the statement runs. Raises Invalid if the statement
    fails or would write, and KeyboardInterrupt if it was stopped. Raises Unprepared for PostgreSQL.
    """
    if not isinstance(store.engine, SqliteEngine):
        raise Unprepared("this command is for SQLite only: with PostgreSQL, use psql")
    try:
        with open_read_only(store.engine.path) as raw:
            db = Database(raw)
            db.register_function(_text, name="text", deterministic=True)
            raw.execute("PRAGMA query_only = ON")
            with suppress(sqlite3.OperationalError):
                # The sizes of tables. Only its first use does more than read. Not every SQLite has
                # it.
                raw.execute("SELECT 1 FROM dbstat LIMIT 0")
            raw.set_authorizer(_authorize)
            raw.set_progress_handler(stopped, STEPS)
            return _run(db, statement, limit)
    except (sqlite3.Error, sqlite3.Warning) as error:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from None
        raise Invalid(_explained(error)) from None


def _run(db: Database, statement: str, limit: int) -> tuple[list[str], list[tuple[Any, ...]]]:
    if statement.lstrip().startswith("."):
        rows = shell_commands.run(db, statement)
        return list(rows[0]) if rows else [], [tuple(row.values()) for row in rows[:limit]]
    _check_joins(statement)
    cursor = db.execute(statement)
    columns = [column[0] for column in cursor.description or ()]
    return _distinct(columns), cursor.fetchmany(limit)


def _check_joins(statement: str) -> None:
    words = {word.upper() for word in re.findall(r"\w+", QUOTED.sub(" ", statement))}
    if words & MERGING and words & OUTER:
        raise Invalid(
            "a FULL or RIGHT JOIN with USING or NATURAL could show secrets: write the join with ON"
        )


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action == sqlite3.SQLITE_READ and (first, second) in UNSEEN:
        return sqlite3.SQLITE_IGNORE
    if action in ALLOWED or (action == sqlite3.SQLITE_PRAGMA and first in PRAGMAS):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _explained(error: Exception) -> str:
    if "not authorized" in str(error) or "readonly" in str(error):
        return "only statements that read are allowed: SELECT, WITH, EXPLAIN and a few PRAGMAs"
    return f"the statement fails: {error}"


def _distinct(columns: list[str]) -> list[str]:
    """Return the names with a number appended to repeated ones, so that no column hides another."""
    seen: dict[str, int] = {}
    named = []
    for column in columns:
        seen[column] = seen.get(column, 0) + 1
        named.append(column if seen[column] == 1 else f"{column}_{seen[column]}")
    return named


def _text(packed: bytes | None) -> str | None:
    return None if packed is None else body_codec.decompress(packed).decode(errors="replace")
