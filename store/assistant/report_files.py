"""The files of reports. Each is written under another name and renamed when it is complete."""

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from store.crypto import owned_files
from store.crypto.file_copy import chown_like, fsync

NAME = re.compile(r"(\d+)\.ndjson")
PART = ".part"


def folder(data_dir: Path) -> Path:
    """Return the directory of the files. Create it if it is missing."""
    found = data_dir / "reports"
    data_dir.mkdir(parents=True, exist_ok=True)
    owned_files.make_folder(found)
    return found


def path(data_dir: Path, report_id: int) -> Path:
    """Return the path of a report's file, whether it exists or not."""
    return data_dir / "reports" / f"{report_id}.ndjson"


@contextlib.contextmanager
def write(target: Path) -> Iterator[IO[bytes]]:
    """Write a file that appears at `target` complete, or not at all. Raises OSError."""
    with tempfile.NamedTemporaryFile(
        "w+b", dir=target.parent, prefix=f".{target.stem}-", suffix=PART, delete=False
    ) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            chown_like(target.parent, Path(file.name))
            Path(file.name).replace(target)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    fsync(target.parent)


def restore(target: Path, parts: Iterable[bytes]) -> None:
    """Write a file from its stored parts."""
    with write(target) as file:
        for part in parts:
            file.write(part)


def size(file: Path) -> int | None:
    """Return a file's size in bytes, or None if it is missing."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return None


def digest(file: Path) -> str | None:
    """Return a file's SHA-256, or None if it is missing."""
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def ids(data_dir: Path) -> list[int]:
    """Return the ids of the reports whose files are here."""
    names = (NAME.fullmatch(each.name) for each in folder(data_dir).iterdir())
    return sorted(int(name[1]) for name in names if name)


def remove(data_dir: Path, report_ids: Iterable[int]) -> None:
    """Delete the files of these reports, incomplete ones too."""
    for report_id in report_ids:
        path(data_dir, report_id).unlink(missing_ok=True)
        for part in folder(data_dir).glob(f".{report_id}-*{PART}"):
            part.unlink(missing_ok=True)


def clear(data_dir: Path, older_than: float) -> None:
    """Delete incomplete files last written before a time (seconds since the epoch)."""
    for each in folder(data_dir).glob(f".*{PART}"):
        with contextlib.suppress(FileNotFoundError):
            if each.stat().st_mtime < older_than:
                each.unlink()
