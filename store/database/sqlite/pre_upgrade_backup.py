"""A copy of a SQLite file beside it, made before an upgrade changes it. The last few are kept."""

import contextlib
import logging
import sqlite3
from pathlib import Path

from store import clock
from store.crypto import file_copy
from store.errors import Unusable

log = logging.getLogger("tocsin.store")

KEPT = 3


def create_backup(path: Path, step: int, now: int) -> Path:
    """Copy the database, which is at this step; returns where to. Unusable where that cannot be.

    Whatever is committed by now is in the copy, also what is in the write-ahead log alone.
    """
    target = path.with_name(
        f"{path.stem}.before-upgrade-{step:04}-{clock.compact(now)}{path.suffix}"
    )
    unfinished = target.with_name(f"{target.name}.part")
    try:
        file_copy.make_private(unfinished)
        file_copy.copy_database(path, unfinished)
        unfinished.replace(target)
    except (OSError, sqlite3.Error) as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise Unusable(
            f"the database {path} has to be upgraded and cannot be copied first: {error}"
        ) from error
    log.info("the database is upgraded; as it was at step %d it is kept in %s", step, target)
    _forget(path)
    return target


def copies(path: Path) -> list[Path]:
    """The copies of a database that there are, the oldest first."""
    return sorted(path.parent.glob(f"{path.stem}.before-upgrade-*{path.suffix}"))


def _forget(path: Path) -> None:
    for old in copies(path)[:-KEPT]:
        with contextlib.suppress(OSError):
            old.unlink()
