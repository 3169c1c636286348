"""Temporary folders in memory, if this machine has room for them.

A new PostgreSQL database consists of a thousand small files. A disk's file system takes ten times
as long to create them as memory does.
"""

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108 - each folder in it is made by tempfile or by pytest
# Free bytes that a run needs. It has at most a few virtual environments and databases at once.
ROOM = 4 * 1024**3


def use_memory() -> None:
    """Have this process, and those that it starts, make temporary folders in memory.

    If TMPDIR is set, it stays as it is.
    """
    if "TMPDIR" not in os.environ and suits(MEMORY):
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


def suits(folder: Path) -> bool:
    """Return whether a folder has room, and lets programs run that are installed in it."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    runs_programs = not os.statvfs(folder).f_flag & os.ST_NOEXEC
    return runs_programs and shutil.disk_usage(folder).free >= ROOM
