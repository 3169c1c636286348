"""The key file: one Fernet key a line. The first one encrypts, and all of them decrypt.

`#` begins a comment. A new key is first added with the comment `next`, which does not encrypt. So
every process can decrypt with it before any process encrypts with it.
"""

import contextlib
import fcntl
import glob
import hashlib
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography.fernet import Fernet

from store.crypto.file_copy import chown_like, fsync, temporary_file
from store.errors import Absent, Conflict, Unusable, from_os_error
from store.named_file import read_file

NEXT = "next"

NO_FILE = (
    "if tocsin is starting for the first time, wait until it is at work; otherwise put your copy of"
    " the file there"
)


@dataclass(frozen=True, slots=True)
class Key:
    """A line of the file. `note` is its comment."""

    value: bytes
    note: str = ""

    def __repr__(self) -> str:
        return f"Key({self.fingerprint})"

    @property
    def fingerprint(self) -> str:
        """Return a short digest that identifies the key without revealing it."""
        return hashlib.sha256(self.value).hexdigest()[:8]

    @property
    def decrypt_only(self) -> bool:
        """Return whether the key only decrypts for now."""
        return self.note.partition(" ")[0] == NEXT


def generate(note: str = "") -> Key:
    return Key(Fernet.generate_key(), note)


def read_keys(path: Path) -> list[Key]:
    """Read the keys of a file. Raises Absent or Unusable if there is none that is well-formed."""
    try:
        text = read_file(path)
    except FileNotFoundError as error:
        said = from_os_error(f"cannot read the key file {path}", error)
        raise Absent(f"{said}: {NO_FILE}") from error
    except OSError as error:
        raise from_os_error(f"cannot read the key file {path}", error) from error
    return parse(text)


def parse(text: bytes) -> list[Key]:
    """Parse the content of a key file. Raises Unusable as `read_keys` does."""
    keys = []
    for line in text.splitlines():
        found, _, note = line.partition(b"#")
        keys += [Key(value, note.decode("utf-8", "replace").strip()) for value in found.split()]
    try:
        for key in keys:
            Fernet(key.value)
    except ValueError as error:
        raise Unusable("the key file has a line that is not a Fernet key") from error
    if not keys:
        raise Unusable("the key file has no key")
    return keys


def find_leftovers(path: Path) -> list[Path]:
    """Return what interrupted changes of a key file have left beside it. Nothing needs it."""
    name = f".{glob.escape(path.name)}"
    ends = (".part", f".{'[0-9a-f]' * 8}.part")
    return sorted(found for end in ends for found in path.parent.glob(f"{name}{end}"))


def missing(keys: Sequence[Key], others: Sequence[Key]) -> list[Key]:
    """Return the keys of `others` that are not among `keys`."""
    values = {one.value for one in keys}
    return [one for one in others if one.value not in values]


def content_with(path: Path, former: Sequence[Key]) -> bytes:
    """Return the content of a key file, and behind it the `former` keys that it has lost."""
    text = read_file(path)
    lost = missing(parse(text), former)
    return text + b"\n" + _text(lost) if lost else text


def create_key_file(path: Path) -> None:
    """Create a file with a new key, for its owner only, if there is none."""
    # The file is written under another name and linked. If two processes start at once, one creates
    # the key, and the other reads the complete file.
    with contextlib.suppress(FileExistsError):
        write_new(path, [generate()])


def write_new(path: Path, keys: Sequence[Key]) -> None:
    """Create a file with these keys, for its owner only. Raises FileExistsError if there is one."""
    try:
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        with temporary_file(part, _text(keys)):
            chown_like(path.parent, part)
            os.link(part, path)
    except FileExistsError:
        raise
    except OSError as error:
        raise from_os_error(f"cannot create the key file {path}", error) from error


class KeyFileLock:
    """A lock on a key file, for changing it. It locks the file that is at the path."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def replace(self, keys: Sequence[Key]) -> None:
        """Replace the keys in one step, synced to disk. Owner and mode stay."""
        try:
            before = self.path.stat()
            # The next change deletes what a killed one has left, because keys must not stay there.
            part = self.path.with_name(f".{self.path.name}.part")
            with temporary_file(part, _text(keys)):
                part.chmod(before.st_mode & 0o7777)
                chown_like(self.path, part)
                descriptor = _locked(part)
                part.replace(self.path)
        except OSError as error:
            raise from_os_error(f"cannot write the key file {self.path}", error) from error
        fsync(self.path.parent)
        os.close(self._descriptor)
        self._descriptor = descriptor

    def close(self) -> None:
        """Release the lock."""
        os.close(self._descriptor)


@contextlib.contextmanager
def lock_key_file(path: Path) -> Iterator[KeyFileLock]:
    """Lock a key file for a change. Raises Conflict if it is locked, Unusable if it is missing."""
    try:
        holder = KeyFileLock(path, _locked(path))
    except BlockingIOError:
        raise Conflict(f"the key file {path} is being changed by another process") from None
    except OSError as error:
        raise from_os_error(f"cannot read the key file {path}", error) from error
    try:
        yield holder
    finally:
        holder.close()


def _locked(path: Path) -> int:
    while True:
        # It would wait for the writer of a named pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The former holder may have replaced the file.
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _text(keys: Sequence[Key]) -> bytes:
    lines = [key.value + (f" # {key.note}".encode() if key.note else b"") for key in keys]
    return b"\n".join(lines) + b"\n"
