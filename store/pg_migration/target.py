"""The target of a migration: a PostgreSQL database that is closed until the end."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from store.clock import Clock
from store.crypto.vault import open_vault
from store.database.migrations import CLOSED, migrate
from store.database.postgres.engine import PostgresEngine
from store.errors import Conflict
from store.pg_migration.tables import Table, Values, by_key, is_copied, no_notifier, quoted
from store.pg_migration.target_connection import TargetConnection

UNFINISHED = "an installation is being moved to this database: `tocsin migrate` continues the move"
MADE = (
    "CREATE TABLE moving (key TEXT PRIMARY KEY)",
    "CREATE TABLE moving_reached (name TEXT PRIMARY KEY, last TEXT NOT NULL)",
    "CREATE TABLE moving_reference (made TEXT PRIMARY KEY)",
)
# The information schema checks permissions first, which takes a hundred times as long.
COLUMNS = (
    "SELECT CAST(c.relname AS text), CAST(a.attname AS text) FROM pg_class c"
    " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
    " WHERE c.relnamespace = CAST(current_schema() AS regnamespace) AND c.relkind IN ('r', 'p')"
)
REFERENCES = (
    "SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname),"
    " format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname,"
    " pg_get_constraintdef(oid)) FROM pg_constraint WHERE contype = 'f'"
    " AND connamespace = CAST(current_schema() AS regnamespace)"
)
# An unfinished copy may delete entries of the audit log, which are copied again.
TRIGGER = (
    "ALTER TABLE audit DISABLE TRIGGER audit_delete",
    "ALTER TABLE audit ENABLE TRIGGER audit_delete",
)
OTHERS = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name = 'tocsin'"
)


class PostgresTarget:
    """A PostgreSQL database. Every written row is read back."""

    def __init__(self, url: str, key_path: Path) -> None:
        self._url = url
        self._key_path = key_path
        self._link = TargetConnection(url)
        self._reached: dict[str, Any] = {}

    @property
    def shown(self) -> str:
        """Return the URL without its password."""
        return self._link.shown

    def columns(self) -> dict[str, set[str]]:
        """Return the existing tables, each with its columns."""
        found: dict[str, set[str]] = {}
        for table, column in self._link.rows(COLUMNS):
            found.setdefault(table, set()).add(column)
        return found

    def key(self) -> str | None:
        """Return the key of the unfinished migration to this database, or None."""
        if "moving" not in self.columns():
            return None
        found: str = self._link.value("SELECT key FROM moving")
        return found

    def held(self) -> list[str]:
        """Return the tables that have rows. If there is no installation, return all tables."""
        found = self.columns()
        if "migration" not in found:
            return sorted(found)
        names = sorted(filter(is_copied, found))
        filled = [
            f'SELECT {place} WHERE EXISTS (SELECT 1 FROM "{name}")'
            for place, name in enumerate(names)
        ]
        places = self._link.rows(" UNION ALL ".join(filled)) if filled else []
        return [names[place] for (place,) in sorted(places)]

    def steps(self) -> list[tuple[int, str]]:
        """Return the applied schema migrations: their numbers and recorded names."""
        sql = f"SELECT number, name FROM migration WHERE number < {CLOSED} ORDER BY number"
        return [(number, name) for number, name in self._link.rows(sql)]

    def others(self) -> int:
        """Return how many connections hubs and workers have to this database."""
        found: int = self._link.value(OTHERS)
        return found

    # The beginning.

    def migrate(self) -> None:
        """Create the tables. Raises Unusable if the server is too old or the database is newer."""
        engine = PostgresEngine(self._url, open_vault(self._key_path, create=False), no_notifier)
        try:
            session = engine.session()
            migrate(session, Clock().now(), engine.words)
            session.close()
        finally:
            engine.close()

    def begin(self, key: str) -> None:
        """Close a migrated and empty database for the migration with this key.

        Its foreign keys are dropped, and the trigger that protects the audit log is disabled until
        the end, because rows arrive in any order, and a changed row is deleted before it is copied
        again.
        """
        with self._link.transaction():
            changes = [*self._link.rows(REFERENCES), TRIGGER]
            self._link.run("; ".join([*MADE, *(dropped for dropped, _ in changes)]))
            self._link.run(
                "INSERT INTO moving_reference (made) SELECT unnest(CAST(%s AS text[]))",
                [[made for _, made in changes]],
            )
            self._link.run("INSERT INTO moving (key) VALUES (%s)", [key])
            self._link.run(
                "INSERT INTO migration (number, name, applied_at) VALUES (%s, %s, %s)",
                [CLOSED, UNFINISHED, Clock().now()],
            )

    def resume(self) -> None:
        """Load the progress of the last run."""
        rows = self._link.rows("SELECT name, last FROM moving_reached")
        self._reached = {name: orjson.loads(last) for name, last in rows}

    # Rows.

    def reached(self, table: Table) -> Any:
        """Return the first key up to which the table is copied, or None."""
        return self._reached.get(table.name)

    def extend(self, table: Table, rows: Sequence[Values], last: Any) -> None:
        """Copy the next rows, and record that the copy has reached the first key `last`."""
        with self._link.transaction():
            if rows:
                self._copy(table, rows)
                _check(table, rows, self.between(table, self.reached(table), last))
            self._link.run(
                "INSERT INTO moving_reached (name, last) VALUES (%s, %s)"
                " ON CONFLICT (name) DO UPDATE SET last = excluded.last",
                [table.name, orjson.dumps(last).decode()],
            )
        self._reached[table.name] = last

    def erase(self, table: Table, firsts: Sequence[Any]) -> int:
        """Delete the rows with these first keys. Return how many there were."""
        sql = f'DELETE FROM "{table.name}" WHERE {table.first} = ANY(%s)'
        return self._link.run(sql, [firsts])

    def put(self, table: Table, rows: Sequence[Values]) -> None:
        """Copy rows whose keys are free."""
        firsts = list({row[0] for row in rows})
        with self._link.transaction():
            self._copy(table, rows)
            _check(table, rows, self._select(table, f"{table.first} = ANY(%s)", [firsts]))

    def between(self, table: Table, after: Any, until: Any) -> list[Values]:
        """Return the rows after one first key up to another. None leaves that side open."""
        # Text is compared by its bytes, as in SQLite.
        first = f'{table.first} COLLATE "C"' if table.textual else table.first
        bounds = {f"{first} > %s": after, f"{first} <= %s": until}
        given = {bound: value for bound, value in bounds.items() if value is not None}
        return self._select(table, " AND ".join(given) or "true", list(given.values()))

    def count(self, table: Table) -> int:
        found: int = self._link.value(f'SELECT count(*) FROM "{table.name}"')
        return found

    def _copy(self, table: Table, rows: Sequence[Values]) -> None:
        self._link.copy(f'COPY "{table.name}" ({table.listed}) FROM STDIN', rows)

    def _select(self, table: Table, where: str, given: list[Any]) -> list[Values]:
        return self._link.rows(f'SELECT {table.listed} FROM "{table.name}" WHERE {where}', given)

    # The end.

    def analyze(self, tables: Sequence[Table]) -> None:
        """Update the planner's statistics of these tables.

        Without their names, the server would also read its own catalogs, which can take longer.
        """
        self._link.run(f"ANALYZE {quoted(table.name for table in tables)}")

    @contextlib.contextmanager
    def finished(self, highest: dict[Table, int]) -> Iterator[None]:
        """Complete the database: add foreign keys, set generated keys, drop the migration's tables.

        It is committed after the block. If anything fails before, the migration is certainly
        unfinished.
        """
        with self._link.transaction():
            made = [made for (made,) in self._link.rows("SELECT made FROM moving_reference")]
            own = [name for name in self.columns() if name.startswith("moving")]
            # Nothing can be written meanwhile, so they go to the server together.
            self._link.run(
                "; ".join(
                    [
                        *made,
                        *(_numbered(table, number) for table, number in highest.items()),
                        f"DROP TABLE {quoted(own)}",
                        f"DELETE FROM migration WHERE number = {CLOSED}",
                    ]
                )
            )
            yield

    def close(self) -> None:
        self._link.close()


def _numbered(table: Table, highest: int) -> str:
    """Return the statement after which a table's next key is higher than this one."""
    sequence = f"pg_get_serial_sequence('\"{table.name}\"', '{table.columns[0]}')"
    return f"SELECT setval({sequence}, {max(highest, 1)}, {highest > 0})"


def _check(table: Table, sent: Sequence[Values], found: Sequence[Values]) -> None:
    if by_key(table, sent) != by_key(table, found):
        raise Conflict(
            f"rows of {table.name} differ after they were read back from PostgreSQL:"
            " does anything else write there? Begin again with an empty target"
        )
