"""Moving an installation from a SQLite file to PostgreSQL while it runs.

The copy: each table's rows are copied in the order of their keys, a portion a transaction, up to
a mark that is set at the start. From before the first row is read, triggers in the file note
every row behind the marks that changes or goes. No read lasts longer than a portion, so the
running daemon's log does not grow; that a row is read later than its neighbour is mended by what
is noted. The tail: the marks are moved on, the rows that were noted go from the copy and come
again as they are now, then come the rows between the old marks and the new; repeated until that
is quick. What is written is read back before it counts, and how far it got is kept in the target,
in the same transaction: a move that was interrupted goes on. Until it is done the target is
closed, so that nobody starts a daemon on half of it.

The comparison: every row of every table is read again on both sides, compared and checksummed. A
row may differ only if it was noted since.

The switch: once the worker has ended (it finishes or gives back what is in flight), the mover
takes its place, and closes the file in one transaction: leases end, and triggers refuse every
write from then on, of connections that are open already too, so that a hub answers 503. It copies
the last of the tail, counts every table on both sides and compares again those that are not
large, and makes the target whole in one transaction: foreign keys, and generated ids beyond all
that were ever given. The file stays closed, with a record that names the new store to whoever
opens it.

Nothing is lost: what a hub had accepted is in the file before it is closed, and what comes later
is refused. Nothing is sent from both: the file is closed before the target is opened, and never
opened again once the target may be. What fails before the last commit opens the file again; where
the outcome of that commit is not known (a lost connection, a kill), the file stays closed, and the
switch, run again, finishes the move or says that it is finished.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from store.database.opening import is_server_url, sqlite_path
from store.errors import Unusable
from store.pg_migration.comparison import TableCheck
from store.pg_migration.mover import Mover, SwitchResult
from store.pg_migration.source import SqliteSource

__all__ = ["Mover", "SwitchResult", "TableCheck", "mover"]


@contextmanager
def mover(url: str, to: str, *, data_dir: Path, key_file: Path | None = None) -> Iterator[Mover]:
    """What moves the installation at `url` to the PostgreSQL database `to`.

    Unusable where one of them is not what it has to be.
    """
    if is_server_url(url):
        raise Unusable("the installation is on PostgreSQL already: only one on SQLite is moved")
    if not is_server_url(to):
        raise Unusable("the target has to be on PostgreSQL: postgresql://user@host/database")
    try:
        from store.pg_migration.target import PostgresTarget
    except ImportError as error:
        raise Unusable(
            f"PostgreSQL needs an extra ({error}): pip install 'tocsin[postgres]'"
        ) from None
    path, key_path = sqlite_path(url, data_dir), key_file or data_dir / "secret.key"
    with (
        closing(SqliteSource(path, key_path)) as source,
        closing(PostgresTarget(to, key_path)) as target,
    ):
        yield Mover(source, target)
