"""The checks of `tocsin doctor` for files that interrupted commands have left."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from hub.cli.operate.backup import key_path
from hub.cli.operate.diagnosis import Finding, good, warning
from hub.cli.operate.doctor_machine import database_files
from hub.cli.service.configuration import Settings
from store import Store
from store.audit import audit_search
from store.backup import backup, restore
from store.crypto import key_file
from store.database.sqlite import file, open_files
from store.database.sqlite.lost_content import unfinished_restore
from store.database.sqlite.private_file import BESIDE

ABOUT = "leftovers"


def check_key_leftovers(key: Path) -> Iterator[Finding]:
    """Check that no change of the key file was interrupted."""
    for path in key_file.find_leftovers(key):
        yield warning(
            ABOUT,
            f"{path} holds keys: a change of the key file was interrupted. Nothing needs this file",
            _remove(path),
        )


def check_restores(database: Path) -> Iterator[Finding]:
    """Check that no restore was interrupted, and name the old databases that are kept."""
    # During a restore, these files are no leftovers.
    held = open_files.acquire_shared_lock(database)
    try:
        yield from _restores(database)
    finally:
        os.close(held)


def _restores(database: Path) -> Iterator[Finding]:
    copy = unfinished_restore(database)
    interrupted = copy.exists()
    if interrupted:
        yield warning(
            ABOUT,
            f"{copy} is the copy of a backup: a restore was interrupted",
            f"run `tocsin restore` again. If you no longer want it, `{_remove(copy)}*`",
        )
    for path in restore.find_replaced(database):
        yield _replaced(path, database, interrupted=interrupted)


def _replaced(path: Path, database: Path, *, interrupted: bool) -> Finding:
    if any(one.exists() and one.samefile(path) for one in database_files(database)):
        said = f"{path} is a second name of a file in use: a restore was interrupted"
        return warning(ABOUT, said, _remove(path))
    size = file.size(path) // 1_000_000
    kind = "log" if path.name.endswith(BESIDE) else "database"
    said = f"{path} is the {kind} from before a restore, {size} MB"
    if interrupted:
        return warning(ABOUT, said, "keep it until a restore has ended and all is well")
    return good(ABOUT, f"{said}: delete it when you no longer need it")


def check_backup_leftovers(store: Store, settings: Settings, database: Path) -> Iterator[Finding]:
    """Check that no backup was interrupted, in the default directory and in the last one used."""
    used = key_path(settings)
    for folder in sorted(_backup_folders(store, settings)):
        parts, keys = backup.find_leftovers(folder, database)
        for path in parts:
            said = f"{path} is a part of a backup that was interrupted. Nothing needs this file"
            yield warning(ABOUT, said, _remove(path))
        for path in keys:
            if used.exists() and path.samefile(used):
                continue
            yield warning(
                ABOUT,
                f"{path} is a copy of the key, and its backup {path.stem} is not there",
                f"if you did not move that backup, `{_remove(path)}`",
            )


def _backup_folders(store: Store, settings: Settings) -> set[Path]:
    folders = {settings.data_dir.absolute() / "backups"}
    last = store.read_sync(audit_search.latest_entry, "tocsin backup")
    if last is not None:
        folders.add(Path(str(last["details"].get("file", ""))).parent)
    # `Path.is_dir` fails in a folder that is closed: only another user can make backups there.
    found = (folder for folder in folders if folder.is_absolute())
    return {folder for folder in found if os.path.isdir(folder)}  # noqa: PTH112 - it never fails


def _remove(path: Path) -> str:
    """Return the command that deletes a file, which a shell reads as one path."""
    return f"rm {shlex.quote(str(path))}"
