"""The permissions of the database file and of the key file: only their owner may use them.

SQLite gives the files that it creates beside the database the same mode.
"""

import logging
import os
from pathlib import Path

from store.crypto.file_copy import chown_like
from store.errors import Unusable, from_os_error

log = logging.getLogger("tocsin.store")

BESIDE = ("-wal", "-shm")
MODE = 0o600
OTHERS = 0o077


def create(database: Path) -> None:
    """Create an empty file if there is none. Raises Unusable, also if it is no file."""
    file = database.resolve()
    try:
        # An existing file is not opened, because closing it would release SQLite's locks on it.
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, MODE))
        chown_like(file.parent, file)
    except FileExistsError:
        if not file.is_file():
            raise Unusable(f"cannot open the database {database}: it is not a file") from None
    except OSError as error:
        raise from_os_error(f"cannot open the database {database}", error) from error


def restrict(database: Path) -> None:
    """Remove all permissions on a database except its owner's. Log a warning if there were any."""
    file = database.resolve()
    for path in (file, *(file.with_name(file.name + end) for end in BESIDE)):
        restrict_file(path)


def restrict_file(path: Path) -> None:
    """Do the same for one file. Do nothing if it is missing."""
    try:
        mode = path.stat().st_mode & 0o777
        if mode & OTHERS:
            path.chmod(mode & ~OTHERS)
            log.warning("%s was open to others (mode %o), and is its owner's alone now", path, mode)
    except FileNotFoundError:
        return
    except OSError as error:
        log.warning(
            "%s is open to others, and its mode cannot be changed: %s", path, error.strerror
        )
