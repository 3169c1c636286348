"""A database file that has lost its content.

SQLite would take it for a new one, and delete its write-ahead log, which may hold everything.
"""

from pathlib import Path

from store.database.sqlite.open_files import worker_lock_path
from store.database.sqlite.private_file import BESIDE
from store.errors import Damaged


def require_content(database: Path) -> None:
    """Raise Damaged if the file is empty or missing, and others beside it show that it was used.

    If it is missing, a worker's lock and a key are not enough: somebody may have begun anew.
    """
    copy = unfinished_restore(database)
    if _size(database) is None and has_content(copy):
        raise Damaged(
            f"the database {database} is missing, and {copy} shows that a restore was interrupted:"
            f" run `tocsin restore` again. To begin without the old data, delete {copy.name}"
        )
    # Who makes a database gives it content before these are made. So its own size comes last.
    log = log_path(database)
    logged = [log] if _size(log) else []
    others = [worker_lock_path(database), database.with_name("secret.key")]
    used = [path for path in others if _size(path) is not None]
    size = _size(database)
    shown = logged if size is None else logged + used
    if size or not shown:
        return
    raise Damaged(
        f"the database {database} is {'missing' if size is None else 'empty'}, and {shown[0]} shows"
        " that it was in use: stop tocsin, and restore a backup with `tocsin restore`. To begin"
        f" without the old data, move {database.name} and {log.name} away"
    )


def unfinished_restore(database: Path) -> Path:
    """Return the path of the copy that a restore makes before it replaces the database."""
    return database.with_name(f".{database.name}.restoring")


def has_content(path: Path) -> bool:
    """Return whether there is such a file, and it is not empty."""
    return bool(_size(path))


def log_path(database: Path) -> Path:
    """Return the path of the write-ahead log."""
    return database.with_name(database.name + BESIDE[0])


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
