"""The folders of imports on disk: one for each running round, and the imported repositories.

A repository appears at its place at once and complete, or not at all.
"""

import contextlib
import logging
import os
import re
import shutil
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from store import Row
from store.crypto import owned_files
from store.crypto.file_copy import fsync

log = logging.getLogger("tocsin.worker")

REPLACED = "replaced.git"
# How often removing a folder is tried, and the seconds between two tries.
TRIES, RETRY_AFTER = 40, 0.05
ROUND = re.compile(r"[0-9]{1,18}-[0-9]{1,18}")


class ImportDirectories:
    """The folders of imports in a data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._work = data_dir / "imports"
        self.stores_folder = data_dir / "git"
        """The directory of the git stores, which may not exist."""

    def store(self, repo_id: int) -> Path:
        """Return the path of a repository's git store, which may not exist."""
        return self.stores_folder / f"{repo_id}.git"

    def begin(self, row: Row) -> Path:
        """Make the folder for a round of an import."""
        for folder in (self._work, self.stores_folder):
            owned_files.make_folder(folder)
        made = self._work / f"{row['repo_id']}-{row['round']}"
        made.mkdir(mode=0o700)
        return made.absolute()

    def put(self, made: Path, repo_id: int) -> None:
        """Move a new store to the repository's place, and the former one aside."""
        store = self.store(repo_id)
        owned_files.chown_tree_like(self.stores_folder, made)
        for folder, _, files in os.walk(made, onerror=_raise):
            for name in files:
                fsync(Path(folder) / name)
            fsync(Path(folder))
        replaced = made.with_name(REPLACED)
        remove_tree(replaced)
        with contextlib.suppress(FileNotFoundError):
            store.rename(replaced)
        made.rename(store)
        fsync(self.stores_folder)

    def uninstall(self, made: Path, repo_id: int) -> None:
        """Undo `put`."""
        self.store(repo_id).rename(made)
        with contextlib.suppress(FileNotFoundError):
            made.with_name(REPLACED).rename(self.store(repo_id))

    def unfinished(self) -> list[Path]:
        """Return the folders of all rounds, including finished ones."""
        found = self._work.iterdir() if self._work.exists() else ()
        return [folder for folder in found if ROUND.fullmatch(folder.name)]

    def sweep(
        self, unfinished: Iterable[Path], rounds: Mapping[int, int], busy: Collection[int]
    ) -> int:
        """Remove the given folders, except the ones of current rounds. Return how many were
        removed.

        `rounds` maps the ids of repositories to their current rounds. The folders of repositories
        in `busy` stay. If a crash interrupted `put`, the former store is moved back.
        """
        swept = 0
        for folder in unfinished:
            repo_id, number = map(int, folder.name.split("-"))
            # A cancelled round is not current, but it may still work in its folder.
            if repo_id in busy or rounds.get(repo_id) == number:
                continue
            replaced = folder / REPLACED
            if replaced.exists() and not self.store(repo_id).exists():
                replaced.rename(self.store(repo_id))
            remove_tree(folder)
            swept += 1
        return swept

    def stores(self) -> list[int]:
        """Return the ids of the repositories that have a store."""
        names = [path.stem for path in self.stores_folder.glob("*.git")]
        return [int(name) for name in names if name.isdigit()]


def _raise(error: OSError) -> None:
    """Raise an error of `os.walk`, which would leave the folder out."""
    raise error


def write_private_file(path: Path, lines: Iterable[str], mode: int = 0o600) -> None:
    """Write a new file that no other user may read."""
    path.touch(mode=mode)
    path.write_text("".join(f"{line}\n" for line in lines))


def remove_tree(folder: Path, retry_after: float = RETRY_AFTER) -> None:
    """Remove a folder with everything in it, as far as possible.

    A program that was killed, or whose worker was killed, may still write a last file. So this is
    repeated until the folder is gone.
    """
    for _ in range(TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(retry_after)
    log.warning("a folder of an import cannot be removed for now: %s", folder.name)


def size_of(folder: Path) -> int:
    """Return how many bytes the files of a folder take."""
    total = 0
    for path, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(FileNotFoundError):
                total += (Path(path) / name).lstat().st_size
    return total
