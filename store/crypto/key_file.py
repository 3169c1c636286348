"""The key file: one Fernet key a line, the first of which seals, while all of them open.

`#` begins a comment. A key that is being put in place is announced before it seals, with the
comment `next`, so that whoever comes upon a secret that it has sealed has it already.
"""

import contextlib
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography.fernet import Fernet

from store.crypto.file_copy import chown_like, fsync
from store.errors import Conflict, Unusable

NEXT = "next"


@dataclass(frozen=True, slots=True)
class Key:
    """A line of the file. `note` is its comment."""

    value: bytes
    note: str = ""

    def __repr__(self) -> str:
        return f"Key({self.fingerprint})"

    @property
    def fingerprint(self) -> str:
        """What it is called where it must not be shown."""
        return hashlib.sha256(self.value).hexdigest()[:8]

    @property
    def decrypt_only(self) -> bool:
        """Whether it only opens for now."""
        return self.note.partition(" ")[0] == NEXT


def generate(note: str = "") -> Key:
    """A new key."""
    return Key(Fernet.generate_key(), note)


def read_keys(path: Path) -> list[Key]:
    """The keys of a file. Unusable where it cannot be read, or holds none, or something else."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise Unusable(f"cannot read the key file {path}: {error.strerror}") from error
    return parse(text)


def parse(text: bytes) -> list[Key]:
    """The keys of a file's content; Unusable as for `read`."""
    keys = []
    for line in text.splitlines():
        found, _, note = line.partition(b"#")
        keys += [Key(value, note.decode("utf-8", "replace").strip()) for value in found.split()]
    try:
        for key in keys:
            Fernet(key.value)
    except ValueError as error:
        raise Unusable("the key file holds a line that is not a Fernet key") from error
    if not keys:
        raise Unusable("the key file holds no key")
    return keys


def create_key_file(path: Path) -> None:
    """A file with a new key, for its owner only; one that is there already stays."""
    # Written aside and linked: of two processes that start at once one makes the key, and the
    # other reads all of it.
    with contextlib.suppress(FileExistsError):
        write_new(path, [generate()])


def write_new(path: Path, keys: Sequence[Key]) -> None:
    """A file with these keys, for its owner only. FileExistsError where there is one already."""
    try:
        with _aside(path, _text(keys)) as aside:
            chown_like(path.parent, aside)
            os.link(aside, path)
    except FileExistsError:
        raise
    except OSError as error:
        raise Unusable(f"cannot make the key file {path}: {error.strerror}") from error


class KeyFileLock:
    """Who changes a key file, alone: whatever is at its path is locked."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def replace(self, keys: Sequence[Key]) -> None:
        """Put these keys in place of those there are, at once and for good. Owner and mode stay."""
        try:
            before = self.path.stat()
            with _aside(self.path, _text(keys)) as aside:
                aside.chmod(before.st_mode & 0o7777)
                chown_like(self.path, aside)
                descriptor = _locked(aside)
                aside.replace(self.path)
        except OSError as error:
            raise Unusable(f"cannot write the key file {self.path}: {error.strerror}") from error
        fsync(self.path.parent)
        os.close(self._descriptor)
        self._descriptor = descriptor

    def close(self) -> None:
        """Let others change it."""
        os.close(self._descriptor)


@contextlib.contextmanager
def lock_key_file(path: Path) -> Iterator[KeyFileLock]:
    """The key file, for changing it. Conflict while somebody else does, Unusable without one."""
    try:
        holder = KeyFileLock(path, _locked(path))
    except BlockingIOError:
        raise Conflict(f"the key file {path} is being changed by another process") from None
    except OSError as error:
        raise Unusable(f"cannot read the key file {path}: {error.strerror}") from error
    try:
        yield holder
    finally:
        holder.close()


def _locked(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever held it may have put another file in its place.
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _text(keys: Sequence[Key]) -> bytes:
    lines = [key.value + (f" # {key.note}".encode() if key.note else b"") for key in keys]
    return b"\n".join(lines) + b"\n"


@contextlib.contextmanager
def _aside(path: Path, text: bytes) -> Iterator[Path]:
    """A file beside `path` with this text, on disk; gone at the end unless it was moved away."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
