"""The content of a file that a setting or an option names."""

import errno
import os
import stat
from pathlib import Path


def read_file(path: Path) -> bytes:
    """Return the content of a file. Raises OSError, also if the file is a pipe without content.

    A daemon reads its files again. If it waited for the writer of a pipe, it would hang. With an
    empty settings file, all its settings would go back to their defaults.
    """
    with open(path, "rb", opener=_open_at_once) as file:
        content = file.read()
        if not content and stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.ENODATA, "it is a pipe without content", str(path))
        return content


def _open_at_once(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    # A writer that is there may be slow.
    os.set_blocking(descriptor, True)
    return descriptor
