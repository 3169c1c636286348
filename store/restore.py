"""Putting a backup in the place of a SQLite database, which is put aside and never deleted."""

import contextlib
import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from store import audit, clock, copying, sealed, sqlite_file
from store.audit import Entry
from store.bodies import zstd
from store.errors import Unusable
from store.moving_tables import nobody
from store.sqlite import SqliteSession
from store.sqlite_file import Found
from store.vault import FOREIGN, Vault

CHUNK = 1024 * 1024
MAGIC = b"\x28\xb5\x2f\xfd"
BESIDE = ("-wal", "-shm")
# Of each kind of secret so many are tried.
TRIED = 1_000


@dataclass(frozen=True, slots=True)
class Prepared:
    """A backup that lies beside the database it is to replace, found to be good."""

    path: Path
    found: Found


@contextlib.contextmanager
def prepared(source: Path, database: Path) -> Iterator[Prepared]:
    """A backup, unpacked and looked through. Unusable for one that is damaged, closed, or made by
    a newer program. What is not put in place is gone in the end.
    """
    if any((path := _beside(source, end)).exists() and path.stat().st_size for end in BESIDE):
        raise Unusable(
            f"{source} is a database that was not closed, and no backup: its last changes are in"
            f" {source}-wal. `tocsin backup` makes one file of both"
        )
    part = database.with_name(f".{database.name}.restoring")
    try:
        _unpack(source, part)
        found = sqlite_file.looked_through(part, source, thoroughly=True)
        if found.step > sqlite_file.newest_known():
            raise Unusable(
                f"{source} is at step {found.step} and this program knows"
                f" {sqlite_file.newest_known()}: restore it with the newer tocsin that wrote it"
            )
        if found.closed is not None:
            raise Unusable(f"{source} cannot be used: {found.closed}")
        yield Prepared(part, found)
    finally:
        for path in (part, *(_beside(part, end) for end in BESIDE)):
            path.unlink(missing_ok=True)


def _beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def _unpack(source: Path, target: Path) -> None:
    try:
        with source.open("rb") as file:
            is_packed = file.read(len(MAGIC)) == MAGIC
        copying.make_private(target)
        opened = zstd.open(source, "rb") if is_packed else source.open("rb")
        with opened as read, target.open("wb") as written:
            shutil.copyfileobj(read, written, CHUNK)
        copying.sync(target)
    except (OSError, EOFError, zstd.ZstdError) as error:
        raise Unusable(f"the backup {source} cannot be read: {error}") from error


@contextlib.contextmanager
def _session(backup: Prepared, vault: Vault) -> Iterator[SqliteSession]:
    session = SqliteSession(backup.path, vault, nobody, bounded=False)
    try:
        yield session
    finally:
        session.close()


def opens(backup: Prepared, vault: Vault) -> None:
    """Unusable where secrets in a backup do not open with these keys."""
    with _session(backup, vault) as session:
        closed = {
            str(one)
            for one in sealed.SEALED
            if sealed.is_there(session, one)
            for value in sealed.newest(session, one, TRIED)
            if not vault.fits(value)
        }
    if closed:
        raise Unusable(f"{', '.join(sorted(closed))}: {FOREIGN}")


def record(backup: Prepared, vault: Vault, entry: Entry) -> None:
    """Write an entry to the audit log of a backup, if it has one."""
    with _session(backup, vault) as session:
        if not session.value("SELECT 1 FROM sqlite_master WHERE name = 'audit_chain'"):
            return
        session.begin(clock.Clock().now(), write=True)
        try:
            audit.add(session, entry)
            session.commit()
        except BaseException:
            session.rollback()
            raise


def put_in_place(backup: Prepared, database: Path, now: int) -> Path | None:
    """Exchange the database for a backup, in one step; returns where the old one is now, if there
    was one. Nobody else may have it open (`in_use.alone`).
    """
    aside: Path | None = None
    try:
        copying.give_to_owner_of(database if database.exists() else database.parent, backup.path)
        if database.exists():
            aside = database.with_name(
                f"{database.stem}.replaced-{clock.compact(now)}{database.suffix}"
            )
            _set_aside(database, aside)
        backup.path.replace(database)
        copying.sync(database.parent)
    except OSError as error:
        raise Unusable(f"{database} cannot be replaced: {error}") from error
    return aside


def _set_aside(database: Path, aside: Path) -> None:
    """Give the database another name, too. Its log must not be taken for that of the other one."""
    logs = [(_beside(database, end), _beside(aside, end)) for end in BESIDE]
    for log, kept in logs:
        if log.exists():
            _name(log, kept)
    if _settled(database):
        for _, kept in logs:
            kept.unlink(missing_ok=True)
    for log, _ in logs:
        log.unlink(missing_ok=True)
    _name(database, aside)


def _settled(database: Path) -> bool:
    """Whether all of it is in the one file now: what is damaged keeps its log."""
    try:
        with contextlib.closing(sqlite3.connect(database)) as raw:
            raw.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error:
        return False
    return True


def _name(path: Path, other: Path) -> None:
    """Give a file a second name, or another one where it can have one only."""
    try:
        os.link(path, other)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.EXDEV):
            raise
        path.replace(other)
