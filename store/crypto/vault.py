"""Encryption of secrets at rest, with keys from a file that only the daemon's user can read.

The file's first key encrypts, and all keys decrypt. The file is checked before every encryption and
after a failed decryption, so that keys can be rotated while the daemon runs.
"""

import hmac
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from store.crypto import key_file
from store.errors import Unusable

WRONG_KEY = (
    "a stored secret does not open with the keys at hand: "
    "restore the key file that belongs to this database"
)


class Vault:
    """Encrypts and decrypts text with given keys, or with a file's current keys."""

    def __init__(self, keys: list[bytes], path: Path | None = None) -> None:
        self._path = path
        self._seen: tuple[int, ...] = ()
        self._use(keys)

    def _use(self, keys: list[bytes]) -> None:
        try:
            fernets = [Fernet(key) for key in keys]
            self._fernet = MultiFernet(fernets)
        except ValueError as error:
            raise Unusable("the key file has a line that is not a Fernet key") from error
        self._first = fernets[0]
        self._keys = keys

    def __repr__(self) -> str:
        return "Vault(...)"

    def seal(self, text: str) -> bytes:
        self._reload()
        return self._first.encrypt(text.encode())

    def open(self, sealed: bytes) -> str:
        """Decrypt a text. Raises Unusable if no key fits."""
        try:
            return self._fernet.decrypt(bytes(sealed)).decode()
        except InvalidToken:
            pass
        if self._reload():
            return self.open(sealed)
        raise Unusable(WRONG_KEY)

    def can_open(self, sealed: bytes) -> bool:
        try:
            self.open(sealed)
        except Unusable:
            return False
        return True

    def sealed_with_current_key(self, sealed: bytes) -> bool:
        """Return whether the value was encrypted with the current key."""
        self._reload()
        try:
            self._first.decrypt(bytes(sealed))
        except InvalidToken:
            return False
        return True

    def sign(self, purpose: str, message: str) -> str:
        """Sign a message for one purpose. Return the signature in hexadecimal."""
        self._reload()
        return _signature(self._keys[0], purpose, message)

    def signed(self, purpose: str, message: str, signature: str) -> bool:
        """Return whether `sign` made this signature with any of the keys."""
        given = signature.encode("utf-8", "replace")
        for key in self._keys:
            if hmac.compare_digest(_signature(key, purpose, message).encode(), given):
                return True
        return self._reload() and self.signed(purpose, message, signature)

    def _reload(self) -> bool:
        """Load the file's keys if it has changed. Return whether it has."""
        if self._path is None:
            return False
        try:
            seen = _file_version(self._path)
            if seen == self._seen:
                return False
            keys = [key.value for key in key_file.read_keys(self._path)]
        except (OSError, Unusable):
            # The loaded keys stay in force. The file is checked again at the next start.
            return False
        self._use(keys)
        self._seen = seen
        return True


def _signature(key: bytes, purpose: str, message: str) -> str:
    # Signatures use a derived key, another one for each purpose, and not the encryption key itself.
    derived = hmac.digest(key, f"sign {purpose}".encode(), "sha256")
    return hmac.digest(derived, message.encode(), "sha256").hex()


def _file_version(path: Path) -> tuple[int, ...]:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def open_vault(path: Path, *, create: bool) -> Vault:
    """Return the vault of the key file at `path`. If `create` is true, create a missing file."""
    if create and not path.exists():
        key_file.create_key_file(path)
    return Vault([key.value for key in key_file.read_keys(path)], path)
