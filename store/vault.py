"""Secrets at rest: sealed with keys from a file that only the daemon's user can read.

The file's first key seals, and all of them open. It is looked at again whenever something is
sealed or does not open, so that keys can be exchanged while the daemon runs.
"""

from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from store import key_file
from store.errors import Unusable

FOREIGN = (
    "a stored secret does not open with the keys at hand: "
    "restore the key file that belongs to this database"
)


class Vault:
    """Seals and opens text with the keys it was given, or those of a file as it is now."""

    def __init__(self, keys: list[bytes], path: Path | None = None) -> None:
        self._path = path
        self._seen: tuple[int, ...] = ()
        self._use(keys)

    def _use(self, keys: list[bytes]) -> None:
        try:
            fernets = [Fernet(key) for key in keys]
            self._fernet = MultiFernet(fernets)
        except ValueError as error:
            raise Unusable("the key file holds a line that is not a Fernet key") from error
        self._first = fernets[0]

    def __repr__(self) -> str:
        return "Vault(...)"

    def seal(self, text: str) -> bytes:
        """What may be stored in place of `text`."""
        self._look_again()
        return self._first.encrypt(text.encode())

    def open(self, sealed: bytes) -> str:
        """The text behind `sealed`; Unusable when no key fits."""
        try:
            return self._fernet.decrypt(bytes(sealed)).decode()
        except InvalidToken:
            pass
        if self._look_again():
            return self.open(sealed)
        raise Unusable(FOREIGN)

    def fits(self, sealed: bytes) -> bool:
        """Whether it opens."""
        try:
            self.open(sealed)
        except Unusable:
            return False
        return True

    def is_new(self, sealed: bytes) -> bool:
        """Whether it was sealed with the key that seals now."""
        self._look_again()
        try:
            self._first.decrypt(bytes(sealed))
        except InvalidToken:
            return False
        return True

    def _look_again(self) -> bool:
        """Take the file's keys where it has changed; whether it had."""
        if self._path is None:
            return False
        try:
            seen = _look(self._path)
            if seen == self._seen:
                return False
            keys = [key.value for key in key_file.read(self._path)]
        except (OSError, Unusable):
            # What is in force stays so: the file is checked at the next start.
            return False
        self._use(keys)
        self._seen = seen
        return True


def _look(path: Path) -> tuple[int, ...]:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def open_vault(path: Path, *, create: bool) -> Vault:
    """The vault of the key file at `path`; a missing file is made, readable by its owner only."""
    if create and not path.exists():
        key_file.make(path)
    return Vault([key.value for key in key_file.read(path)], path)
