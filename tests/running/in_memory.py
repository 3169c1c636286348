"""Temporary folders in memory, if this machine has room for them.

A disk's file system needs ten times as long to make a small file as memory does. A new PostgreSQL
database is a thousand of them.
"""

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108 - each folder in it is made by tempfile or by pytest
# Bytes. At most, a run keeps a few virtual environments and databases at once.
ROOM = 4 * 1024**3


def use_memory() -> None:
    """Have this process, and those that it starts, make temporary folders in memory.

    Whoever sets TMPDIR has chosen another place.
    """
    if "TMPDIR" not in os.environ and suits(MEMORY):
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


def suits(folder: Path) -> bool:
    """Return whether a folder has room, and lets programs run that are installed in it."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    runs_programs = not os.statvfs(folder).f_flag & os.ST_NOEXEC
    return runs_programs and shutil.disk_usage(folder).free >= ROOM
