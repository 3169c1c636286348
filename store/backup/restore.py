"""Restoration of a backup. The former database is renamed and never deleted."""

import contextlib
import errno
import glob
import itertools
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from store import clock
from store.audit import audit_log
from store.audit.audit_log import AuditEntry
from store.crypto import file_copy
from store.crypto.vault import WRONG_KEY, Vault
from store.database import encrypted_columns
from store.database.body_codec import zstd
from store.database.sqlite import file, private_file
from store.database.sqlite.connections import SqliteSession
from store.database.sqlite.errors import cannot_open
from store.database.sqlite.file import DatabaseSummary
from store.database.sqlite.lost_content import has_content, log_path, unfinished_restore
from store.database.sqlite.private_file import BESIDE
from store.errors import Unusable, from_os_error
from store.pg_migration.tables import no_notifier

CHUNK = 1024 * 1024
# The files of a database.
ENDS = ("", *BESIDE)
MAGIC = b"\x28\xb5\x2f\xfd"
# The number of values tried for each kind of secret.
TRIED = 1_000
# The highest id that each table has given, which SQLite keeps in a table. In a damaged file it may
# be anything, and after the highest number a table takes no more rows.
GIVEN = (
    "SELECT name, seq FROM sqlite_sequence WHERE typeof(name) = 'text'"
    f" AND typeof(seq) = 'integer' AND seq < {2**53}"
)
RAISED = "UPDATE sqlite_sequence SET seq = max(seq, :given) WHERE name = :name"
ADDED = (
    "INSERT INTO sqlite_sequence (name, seq) SELECT m.name, :given FROM sqlite_master AS m"
    " WHERE m.type = 'table' AND m.name = :name"
    " AND m.name NOT IN (SELECT s.name FROM sqlite_sequence AS s)"
)


@dataclass(frozen=True, slots=True)
class PreparedBackup:
    """A verified backup beside the database that it is to replace."""

    path: Path
    found: DatabaseSummary


@contextlib.contextmanager
def prepare(source: Path, database: Path) -> Iterator[PreparedBackup]:
    """Decompress and verify a backup beside the database. If it is not used, delete it at the end.

    Raises Unusable if it is damaged, closed, or made by a newer program.
    """
    if any((path := _beside(source, end)).exists() and path.stat().st_size for end in BESIDE):
        raise Unusable(
            f"{source} is a database that was not closed, and no backup: its last changes are in"
            f" {source}-wal. `tocsin backup` makes one file of both"
        )
    part = unfinished_restore(database)
    try:
        _unpack(source, part)
        found = file.verify_database(part, source)
        if found.step > file.newest_migration():
            raise Unusable(
                f"{source} is at step {found.step} and this program knows"
                f" {file.newest_migration()}: restore it with the newer tocsin that wrote it"
            )
        if found.closed is not None:
            raise Unusable(f"{source} cannot be used: {found.closed}")
        yield PreparedBackup(part, found)
    finally:
        _remove(part)


def _remove(part: Path) -> None:
    """Delete a database with the files that SQLite keeps beside it."""
    for end in (*ENDS, "-journal"):
        _beside(part, end).unlink(missing_ok=True)


def _beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def _unpack(source: Path, target: Path) -> None:
    try:
        with source.open("rb") as file:
            is_packed = file.read(len(MAGIC)) == MAGIC
        # SQLite would apply the log of an interrupted restore to this backup.
        _remove(target)
        file_copy.make_private(target)
        opened = zstd.open(source, "rb") if is_packed else source.open("rb")
        with opened as read, target.open("wb") as written:
            shutil.copyfileobj(read, written, CHUNK)
        file_copy.fsync(target)
    except OSError as error:
        place = target.parent
        raise from_os_error(f"the backup {source} cannot be copied to {place}", error) from error
    except (EOFError, zstd.ZstdError) as error:
        raise Unusable(f"the backup {source} cannot be read: {error}") from error


@contextlib.contextmanager
def _session(backup: PreparedBackup, vault: Vault) -> Iterator[SqliteSession]:
    try:
        session = SqliteSession(backup.path, vault, no_notifier)
    except sqlite3.Error as error:
        raise cannot_open(backup.path, error) from error
    try:
        yield session
    finally:
        session.close()


def check_keys(backup: PreparedBackup, vault: Vault) -> None:
    """Raise Unusable if the backup has secrets that these keys cannot decrypt."""
    with _session(backup, vault) as session:
        closed = {
            str(one)
            for one in encrypted_columns.ENCRYPTED_COLUMNS
            if encrypted_columns.has_column(session, one)
            for value in encrypted_columns.newest_values(session, one, TRIED)
            if not vault.can_open(value)
        }
    if closed:
        raise Unusable(f"{', '.join(sorted(closed))}: {WRONG_KEY}")


def record_audit_entry(backup: PreparedBackup, vault: Vault, entry: AuditEntry) -> None:
    """Write an entry to the backup's audit log, if it has one."""
    with _session(backup, vault) as session:
        if not session.value("SELECT 1 FROM sqlite_master WHERE name = 'audit_chain'"):
            return
        session.begin(clock.Clock().now(), write=True)
        try:
            audit_log.add(session, entry)
            session.commit()
        except BaseException:
            session.rollback()
            raise


def replace_database(backup: PreparedBackup, database: Path, now: int) -> Path | None:
    """Replace the database by a backup in one step. Return the former database's new path, or None.

    No other process may have it open (`open_files.exclusive_lock`).
    """
    aside: Path | None = None
    try:
        _keep_ids(backup.path, database)
        file_copy.chown_like(database if database.exists() else database.parent, backup.path)
        # The log of a database that is missing would be taken for the backup's.
        if database.exists() or has_content(log_path(database)):
            private_file.restrict(database)
            aside = _set_aside(database, clock.compact(now))
        backup.path.replace(database)
        file_copy.fsync(database.parent)
    except OSError as error:
        raise from_os_error(f"{database} cannot be replaced", error) from error
    except sqlite3.Error as error:
        raise Unusable(f"{database} cannot be replaced: {error}") from error
    return aside


def _keep_ids(backup: Path, database: Path) -> None:
    """Let the backup give no id that the database has given since, if that can be read.

    Programs may still use those. So an answer for an old lease would end another delivery.
    """
    given = _given_ids(database)
    with contextlib.closing(sqlite3.connect(backup)) as raw, raw:
        raw.executemany(RAISED, given)
        raw.executemany(ADDED, given)


def _given_ids(database: Path) -> list[dict[str, Any]]:
    """Return the highest id that each table has given. If the file is damaged, return none."""
    if not has_content(database):
        return []
    try:
        with file.open_read_only(database) as raw:
            rows = raw.execute(GIVEN).fetchall()
    except sqlite3.Error:
        return []
    return [{"name": name, "given": given} for name, given in rows]


def _set_aside(database: Path, moment: str) -> Path:
    """Give the database another name, and move its log there. Return its path, or the log's if
    only that is left.
    """
    aside = _free_name(database, moment)
    logs = [(_beside(database, end), _beside(aside, end)) for end in BESIDE]
    for log, kept in logs:
        if log.exists():
            # The merge needs the log in its place.
            _name(log, kept, _copy)
    if _settled(database):
        for _, kept in logs:
            kept.unlink(missing_ok=True)
    for log, _ in logs:
        log.unlink(missing_ok=True)
    if not database.exists():
        return log_path(aside)
    _name(database, aside, Path.replace)
    return aside


def _free_name(database: Path, moment: str) -> Path:
    """Return a name that no earlier restore has used, not even in the same second."""
    stem, suffix = f"{database.stem}.replaced-{moment}", database.suffix
    names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    paths = (database.with_name(f"{name}{suffix}") for name in names)
    return next(
        path for path in paths if not any(os.path.lexists(_beside(path, end)) for end in ENDS)
    )


def find_replaced(database: Path) -> list[Path]:
    """Return the files beside a database that restores have put aside, oldest first."""
    name = f"{glob.escape(database.stem)}.replaced-*{glob.escape(database.suffix)}"
    # Without a suffix, the database's pattern finds its logs too.
    return sorted({path for end in ENDS for path in database.parent.glob(f"{name}{end}")})


def _settled(database: Path) -> bool:
    """Merge the log into the database file. Return False if the database is damaged or empty."""
    if not has_content(database):
        return False
    try:
        with contextlib.closing(sqlite3.connect(database)) as raw:
            raw.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error:
        return False
    return True


def _name(path: Path, other: Path, instead: Callable[[Path, Path], object]) -> None:
    """Give a file a second name. If the file system has no links, call `instead`."""
    try:
        os.link(path, other)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.EXDEV):
            raise
        instead(path, other)


def _copy(path: Path, other: Path) -> None:
    file_copy.make_private(other)
    shutil.copyfile(path, other)
    file_copy.fsync(other)
    file_copy.chown_like(path, other)
