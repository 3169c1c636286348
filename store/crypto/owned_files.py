"""Files and folders that belong to the owner of the folder around them, also if root makes them.

Root runs commands beside a daemon of another user. The daemon has to use what they leave. Links
are not followed, because that user could place one for root.
"""

import os
from pathlib import Path

from store.crypto.file_copy import chown_like


def make_folder(path: Path) -> None:
    """Create a folder, for its owner only, if it is missing. Raises OSError."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        chown_like(path.parent, path)


def open_file(path: Path) -> int:
    """Open a file to read and write it. Create it, for its owner only, if it is missing.

    Raises OSError.
    """
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return os.open(path, flags)
    chown_like(path.parent, path)
    return descriptor


def chown_tree_like(model: Path, folder: Path) -> None:
    """Give a folder with all that it holds to the owner of another one, if this process is root."""
    if os.geteuid() != 0:
        return
    status = model.stat()
    for _, folders, files, descriptor in os.fwalk(folder):
        for name in (*folders, *files):
            os.chown(name, status.st_uid, status.st_gid, dir_fd=descriptor, follow_symlinks=False)
    chown_like(model, folder)
