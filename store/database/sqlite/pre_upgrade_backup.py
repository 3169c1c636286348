"""Copies of a SQLite file beside it, made before a migration. Only the last few are kept."""

import contextlib
import logging
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from store import clock
from store.crypto import file_copy
from store.errors import Unusable

log = logging.getLogger("tocsin.store")

KEPT = 3
PART = ".part"


def create_backup(path: Path, step: int, now: int) -> Path:
    """Copy the database, which is at migration `step`. Return the copy's path.

    The copy has everything that is committed, also what only the write-ahead log has. Raises
    Unusable if the copy fails.
    """
    target = path.with_name(
        f"{path.stem}.before-upgrade-{step:04}-{clock.compact(now)}{path.suffix}"
    )
    unfinished = target.with_name(f"{target.name}{PART}")
    try:
        # The migration's transaction excludes other copies, so these ones were interrupted.
        for left in _made(path, f"{PART}*"):
            left.unlink()
        file_copy.make_private(unfinished)
        file_copy.copy_database(path, unfinished)
        unfinished.replace(target)
    except (OSError, sqlite3.Error) as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise Unusable(
            f"the database {path} must be migrated and cannot be copied first: {error}"
        ) from error
    log.info("the database is upgraded; as it was at step %d it is kept in %s", step, target)
    _forget(path, target)
    return target


def copies(path: Path) -> list[Path]:
    """Return the copies of a database, by the step of their migrations."""
    return sorted(_made(path))


def _made(path: Path, end: str = "") -> Iterable[Path]:
    return path.parent.glob(f"{path.stem}.before-upgrade-*{path.suffix}{end}")


def _forget(path: Path, made: Path) -> None:
    # A restored backup may be at an earlier step than other copies, and the clock may be slow.
    order = sorted(copies(path), key=lambda copy: (copy == made, copy.stem.rpartition("-")[2]))
    for old in order[:-KEPT]:
        with contextlib.suppress(OSError):
            old.unlink()
