"""Migration of an installation from a SQLite file to PostgreSQL while it runs.

The copy: each table's rows are copied in the order of their keys, a portion in a transaction, up to
a mark that is set at the start. Before the first row is read, triggers in the file begin to record
each change and deletion of rows up to the marks. No read lasts longer than a portion, so the
running daemon's log does not grow. Rows are read at different times; the recorded changes make up
for that.

The tail: the marks move on. The recorded rows are deleted from the copy and copied again. Then the
rows between the old and the new marks are copied. This is repeated until it is quick. Every written
row is read back. The progress is stored in the target, in the same transaction, so an interrupted
migration can continue. Until it is done, the target is closed, so that no daemon starts with half
of the data.

The comparison: every row of every table is read again on both sides, compared and checksummed. A
row may differ only if it was recorded as changed.

The switch: it begins when the worker has ended, which finishes or releases its deliveries. The
mover acquires the worker's lock and closes the file in one transaction: workers' leases end, and
triggers refuse every write, also on open connections, so that a hub answers 503. It copies the last
of the tail, counts every table on both sides, and compares the small ones again. Then it completes
the target in one transaction: foreign keys, and generated ids beyond all former ones. The file
stays closed, with a record that names the new store to every program that opens it.

Nothing is lost: everything that a hub accepted is in the file before it is closed, and later writes
are refused. Nothing is delivered from both: the file is closed before the target is opened, and is
never opened again once the target may be. A failure before the last commit opens the file again. If
that commit's result is unknown (a lost connection, a kill), the file stays closed. The switch can
then be run again: it finishes the migration, or reports that it is finished.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from store.database.opening import DRIVER, is_server_url, sqlite_path
from store.errors import Unprepared, Unusable
from store.pg_migration.comparison import TableCheck
from store.pg_migration.mover import Mover, SwitchResult
from store.pg_migration.source import SqliteSource

__all__ = ["Mover", "SwitchResult", "TableCheck", "mover"]


@contextmanager
def mover(url: str, to: str, *, data_dir: Path, key_file: Path | None = None) -> Iterator[Mover]:
    """Return the mover from the installation at `url` to the PostgreSQL database `to`.

    Raises Unusable if one of them is not suitable.
    """
    if is_server_url(url):
        raise Unusable("the installation is on PostgreSQL already: only SQLite can be moved")
    if not is_server_url(to):
        raise Unusable("the target has to be on PostgreSQL: postgresql://user@host/database")
    try:
        from store.pg_migration.target import PostgresTarget
    except ImportError as error:
        raise Unprepared(f"PostgreSQL needs its driver ({error}): {DRIVER}") from None
    path, key_path = sqlite_path(url, data_dir), key_file or data_dir / "secret.key"
    with (
        closing(SqliteSource(path, key_path)) as source,
        closing(PostgresTarget(to, key_path)) as target,
    ):
        yield Mover(source, target)
