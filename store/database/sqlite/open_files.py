"""Who has a SQLite file open. Every process that has holds a shared lock on the file's directory;
who puts another file in its place holds that lock alone.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from store.errors import Conflict, Unusable


def acquire_shared_lock(database: Path) -> int:
    """A descriptor to hold for as long as the database is in use. Unusable while it is exchanged,
    or where its directory cannot be read.
    """
    try:
        return _locked(database.parent, fcntl.LOCK_SH)
    except BlockingIOError:
        raise Unusable(
            f"the database {database} is being restored: try again when that is done"
        ) from None
    except OSError as error:
        raise Unusable(f"cannot open the database {database}: {error.strerror}") from error


@contextlib.contextmanager
def exclusive_lock(database: Path) -> Iterator[None]:
    """Keep everybody out for the length of the block. Conflict where somebody is in."""
    held: list[int] = []
    try:
        held.append(_locked(database.parent, fcntl.LOCK_EX))
        worker = worker_lock_path(database)
        if worker.exists():
            held.append(_locked(worker, fcntl.LOCK_EX))
        yield
    except BlockingIOError:
        raise Conflict(
            f"the database {database} is in use: stop tocsin first, hub and worker"
        ) from None
    finally:
        for descriptor in held:
            os.close(descriptor)


def worker_lock_path(database: Path) -> Path:
    """The file that the one worker of a database holds locked."""
    return database.with_suffix(".worker.lock")


def is_worker_running(database: Path) -> bool:
    """Whether a worker is at work on it."""
    try:
        os.close(_locked(worker_lock_path(database), fcntl.LOCK_SH))
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _locked(path: Path, how: int) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
