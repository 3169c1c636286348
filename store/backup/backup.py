"""Backups of a SQLite installation.

A backup is one file with everything but the key. It is made while the daemon runs, and verified.
"""

import contextlib
import glob
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from store import clock
from store.crypto import file_copy, key_file
from store.crypto.file_copy import ProgressCallback
from store.database.body_codec import zstd
from store.database.notifications import hub_socket_path, worker_socket_path
from store.database.sqlite import file
from store.database.sqlite.open_files import worker_lock_path
from store.database.sqlite.private_file import BESIDE
from store.errors import Conflict, Unavailable, Unusable, from_os_error

PACKED = ".zst"
KEY = ".key"
PART = ".part"
# The pattern of what makes the name of a part unique.
UNIQUE = "[0-9a-f]" * 8
CHUNK = 1024 * 1024
# In bytes. The disk needs room beside the copy for what the daemon writes meanwhile.
SPARE = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made. `size` is in bytes. `key` is the copy of the key file, or None."""

    path: Path
    size: int
    seconds: float
    events: int
    latest: int | None
    """When its last event was received, in microseconds."""
    key: Path | None


def default_name(database: Path, now: int, *, packed: bool) -> str:
    """Return the default name of a backup."""
    return f"{database.stem}-{clock.compact(now)}{database.suffix}{PACKED if packed else ''}"


def create_backup(
    database: Path,
    target: Path,
    *,
    packed: bool = False,
    key: Path | None = None,
    overwrite: bool = False,
    protected: Sequence[Path] = (),
    on_progress: ProgressCallback | None = None,
) -> Backup:
    """Back up a database to `target`, and its `key` file, if given, to `target`.key.

    Raises Conflict if the target exists and `overwrite` is false, or if it is a device or a
    directory, the database, a file of it, or one of the `protected` files. Raises Unusable if there
    is not enough room, or if the copy is damaged; then nothing of it remains.
    """
    began = time.monotonic()
    keyed = None if key is None else target.with_name(target.name + KEY)
    try:
        for path in filter(None, (target, keyed)):
            _check_target(path, [*_files_of(database), *protected], overwrite=overwrite)
        # A rotation may delete keys while the copy is made, which has secrets from before.
        former = [] if key is None else key_file.read_keys(key)
        with _unfinished(target, database) as part:
            _check_room(database, target.parent, packed=packed)
            file_copy.copy_database(database, part, on_progress)
            found = file.verify_database(part, target)
            if packed:
                part = _packed(part)
            size = part.stat().st_size
            if key is not None and keyed is not None:
                copy = _beside(part, KEY)
                with file_copy.temporary_file(copy, key_file.content_with(key, former)):
                    copy.replace(keyed)
            part.replace(target)
        file_copy.fsync(target.parent)
    except OSError as error:
        raise from_os_error(f"the backup {target} cannot be created", error) from error
    except sqlite3.Error as error:
        raise Unusable(f"the backup {target} cannot be created: {error}") from error
    seconds = time.monotonic() - began
    return Backup(target, size, seconds, found.events, found.latest, keyed)


def _files_of(database: Path) -> list[Path]:
    """Return the database and the paths beside it that processes use.

    If the lock file were replaced, a second worker could begin.
    """
    beside = [database.with_name(database.name + end) for end in BESIDE]
    sockets = [worker_socket_path(database), hub_socket_path(database)]
    return [database, *beside, worker_lock_path(database), *sockets]


def _check_target(target: Path, installation: Iterable[Path], *, overwrite: bool) -> None:
    # This comes first, because links that lead to each other cannot be resolved.
    there = _exists(target)
    for path in installation:
        # A side file may be missing now, and be made while the backup is made.
        if target.resolve() == path.resolve() or _is_same_file(target, path):
            raise Conflict(f"{target} is a file of the installation: name another file")
    if there and not target.is_file():
        raise Conflict(f"{target} is no regular file: name another file")
    if there and not overwrite:
        raise Conflict(f"{target} is there already: --overwrite replaces it")


def _exists(target: Path) -> bool:
    try:
        target.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise from_os_error(f"the backup {target} cannot be created", error) from error
    return True


def _is_same_file(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


@contextlib.contextmanager
def _unfinished(target: Path, database: Path) -> Iterator[Path]:
    """Create a temporary file beside the target, and delete it at the end of the block.

    Its name is unique, because another backup may be made for the same target.
    """
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}{PART}")
    try:
        for name in (f"{glob.escape(target.name)}.{UNIQUE}", _default_names(database)):
            _remove_old_parts(target.parent, f".{name}{PART}*")
        file_copy.make_private(part)
        yield part
    finally:
        for path in target.parent.glob(f"{glob.escape(part.name)}*"):
            path.unlink(missing_ok=True)


def _beside(part: Path, end: str) -> Path:
    return part.with_name(part.name + end)


def _check_room(database: Path, folder: Path, *, packed: bool) -> None:
    needed = file.size(database) * (2 if packed else 1) + SPARE
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise Unavailable(
            f"the backup needs {needed >> 20} MB in {folder}, and {free >> 20} MB are free:"
            " make room, or back up to another place"
        )


def _packed(part: Path) -> Path:
    """Compress the file, and read it back to verify it."""
    target = _beside(part, PACKED)
    file_copy.make_private(target)
    options = {zstd.CompressionParameter.checksum_flag.value: 1}
    with part.open("rb") as source, zstd.open(target, "wb", options=options) as packed:
        shutil.copyfileobj(source, packed, CHUNK)
    file_copy.fsync(target)
    with zstd.open(target, "rb") as again:
        length = sum(len(chunk) for chunk in iter(lambda: again.read(CHUNK), b""))
    if length != part.stat().st_size:
        raise Unusable("the compressed backup does not have the size of the original")
    return target


def list_backups(folder: Path, database: Path) -> list[Path]:
    """Return a database's backups in a directory that have default names, oldest first."""
    found = folder.glob(_default_names(database))
    return sorted(path for path in found if path.suffix in (database.suffix, PACKED))


def _default_names(database: Path) -> str:
    stamp = "[0-9]" * 8 + "T" + "[0-9]" * 6 + "Z"
    return f"{glob.escape(database.stem)}-{stamp}{glob.escape(database.suffix)}*"


def prune_backups(made: Path, database: Path, many: int) -> list[Path]:
    """Delete all but the newest backups beside the one just made. Return the deleted ones."""
    folder = made.parent
    # A clock that was fast, or is slow now, has given others later names.
    order = sorted(list_backups(folder, database), key=lambda path: (path.name <= made.name, path))
    gone = order[:-many]
    for path in gone:
        path.with_name(path.name + KEY).unlink(missing_ok=True)
        path.unlink(missing_ok=True)
    if gone:
        file_copy.fsync(folder)
    return gone


def find_leftovers(folder: Path, database: Path) -> tuple[list[Path], list[Path]]:
    """Return what interrupted backups have left in a directory: parts, and keys without a backup.

    A key without a backup may also belong to a backup that was moved.
    """
    # Other programs have hidden parts too.
    parts = [path for path in folder.glob(f".*.{UNIQUE}{PART}*") if _is_old(path)]
    ends = (database.suffix or PACKED, PACKED)
    keys = [path for path in folder.glob(f"*{KEY}") if path.with_suffix("").suffix in ends]
    return sorted(parts), sorted(path for path in keys if not _exists(path.with_suffix("")))


def _remove_old_parts(folder: Path, pattern: str) -> None:
    """Delete what interrupted backups have left."""
    for path in folder.glob(pattern):
        # Another user's may stay.
        with contextlib.suppress(OSError):
            if _is_old(path):
                path.unlink()


def _is_old(part: Path) -> bool:
    """Return whether this is no backup that is being made."""
    with contextlib.suppress(FileNotFoundError):
        return time.time() - part.stat().st_mtime > 86_400
    return False
