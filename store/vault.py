"""Secrets at rest: sealed with keys from a file that only the daemon's user can read.

The file holds one Fernet key a line, the newest first; what was sealed with an older one still
opens, so that a key can be replaced while the daemon runs.
"""

import contextlib
import os
import tempfile
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from store.errors import Unusable


class Vault:
    """Seals and opens text with the keys it was given."""

    def __init__(self, keys: list[bytes]) -> None:
        try:
            self._fernet = MultiFernet([Fernet(key) for key in keys])
        except ValueError as error:
            raise Unusable("the key file holds a line that is not a Fernet key") from error

    def __repr__(self) -> str:
        return "Vault(...)"

    def seal(self, text: str) -> bytes:
        """What may be stored in place of `text`."""
        return self._fernet.encrypt(text.encode())

    def open(self, sealed: bytes) -> str:
        """The text behind `sealed`; Unusable when no key fits."""
        try:
            return self._fernet.decrypt(bytes(sealed)).decode()
        except InvalidToken:
            raise Unusable(
                "a stored secret does not open with the keys at hand: "
                "restore the key file that belongs to this database"
            ) from None


def open_vault(path: Path, *, create: bool) -> Vault:
    """The vault of the key file at `path`; a missing file is made, readable by its owner only."""
    if create and not path.exists():
        _write_key(path)
    try:
        keys = path.read_bytes().split()
    except OSError as error:
        raise Unusable(f"cannot read the key file {path}: {error.strerror}") from error
    return Vault(keys)


def _write_key(path: Path) -> None:
    # Written aside and linked: of two processes that start at once one makes the key, and the
    # other reads all of it.
    try:
        descriptor, aside = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(Fernet.generate_key() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(aside, path)
        finally:
            Path(aside).unlink()
    except OSError as error:
        raise Unusable(f"cannot make the key file {path}: {error.strerror}") from error
