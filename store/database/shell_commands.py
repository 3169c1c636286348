"""Commands of the SQL shell that describe the database, as `.schema hook` does."""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any

from sqlite_utils import Database
from sqlite_utils.db import Table

from store.errors import Invalid

Described = Iterator[dict[str, Any]]


def run(db: Database, line: str) -> list[dict[str, Any]]:
    """Run a command such as `.indexes hook`, and return its rows.

    Without the name of a table, a command describes all tables. Raises Invalid if the command or
    the table does not exist.
    """
    name, _, table = line.strip().rstrip(";").partition(" ")
    describe = COMMANDS.get(name)
    if describe is None:
        raise Invalid(f"there is no command {name!r}: {', '.join(COMMANDS)} are known")
    return [row for each in _tables(db, table.strip()) for row in describe(each)]


def _tables(db: Database, wanted: str) -> list[Table]:
    names = sorted(name for name in db.table_names() if not name.startswith("sqlite"))
    if wanted and wanted not in names:
        near = get_close_matches(wanted, names, 1)
        hint = f": did you mean {near[0]}?" if near else ", see .tables"
        raise Invalid(f"no such table: {wanted}{hint}")
    return [db.table(name) for name in names if wanted in ("", name)]


def _table(table: Table) -> Described:
    yield {"table": table.name}


def _schema(table: Table) -> Described:
    yield {"sql": table.schema}
    # Database.query wants a savepoint, which a connection that only reads does not allow.
    found = table.db.execute(
        "SELECT sql FROM sqlite_schema WHERE tbl_name = ? AND type <> 'table' AND sql IS NOT NULL"
        " ORDER BY type, name",
        [table.name],
    )
    for (statement,) in found:
        yield {"sql": statement}


def _columns(table: Table) -> Described:
    for column in table.columns:
        yield {
            "table": table.name,
            "column": column.name,
            "type": column.type,
            "required": bool(column.notnull),
            "default": column.default_value,
            "key": bool(column.is_pk),
        }


def _indexes(table: Table) -> Described:
    for index in table.indexes:
        yield {
            "table": table.name,
            "index": index.name,
            # A column without a name is an expression.
            "columns": ", ".join(name or "(expression)" for name in index.columns),
            "unique": bool(index.unique),
            "partial": bool(index.partial),
        }


def _references(table: Table) -> Described:
    for key in table.foreign_keys:
        yield {
            "table": table.name,
            "columns": ", ".join(key.columns),
            "to": f"{key.other_table} ({', '.join(key.other_columns)})",
        }


COMMANDS: dict[str, Callable[[Table], Described]] = {
    ".tables": _table,
    ".schema": _schema,
    ".columns": _columns,
    ".indexes": _indexes,
    ".references": _references,
}
