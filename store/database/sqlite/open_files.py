"""Locks that show which processes have a SQLite file open.

Every process that has it open holds a shared lock on the file's directory. To replace the file, a
process holds that lock exclusively.
"""

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from store.errors import Conflict, InUse, from_os_error


def acquire_shared_lock(database: Path) -> int:
    """Return a descriptor to hold while the database is in use.

    Raises Unusable while the file is being replaced, or if its directory cannot be read.
    """
    try:
        return _locked(database.parent, fcntl.LOCK_SH)
    except BlockingIOError:
        raise InUse(f"the database {database} is being restored: try again afterwards") from None
    except OSError as error:
        raise from_os_error(f"cannot open the database {database}", error) from error


@contextlib.contextmanager
def exclusive_lock(database: Path) -> Iterator[None]:
    """Exclude other processes for the length of the block. Raises Conflict if one has it open."""
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
    return database.with_suffix(".worker.lock")


def write_holder(descriptor: int) -> None:
    """Write the name of this process to the worker's lock file, for `worker_lock_holder`."""
    # A full disk must not keep the worker from running.
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)


def worker_lock_holder(database: Path) -> str:
    """Return the name of the last process that had the worker's lock, or "" if it is not known."""
    with contextlib.suppress(OSError):
        return worker_lock_path(database).read_text(errors="replace")
    return ""


def is_worker_running(database: Path) -> bool:
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
