"""The key pair of a repository, with which clients encrypt secrets for its environments.

The format is libsodium's sealed box: Curve25519, XSalsa20 and Poly1305, with an ephemeral key of
the sender.
"""

import base64
import binascii
import secrets
from typing import Any

from store.database.connection import Connection, Row
from store.errors import Invalid

COLUMNS = "repo_id, key_id, public_key, private_key, created_at"
RESOURCE = "DevenvSecret"
KEY_IDS = 10**18


def get(db: Connection, repo_id: int) -> Row | None:
    """Return the repository's key, or None. `public_key` is base64; `private_key` is encrypted."""
    return db.one(f"SELECT {COLUMNS} FROM devenv_key WHERE repo_id = :repo_id", repo_id=repo_id)


def make(db: Connection, repo_id: int) -> Row:
    """Create a key for a repository. If another transaction was first, return the existing key."""
    private = _nacl().public.PrivateKey.generate()
    db.execute(
        f"INSERT INTO devenv_key ({COLUMNS})"
        " VALUES (:repo_id, :key_id, :public_key, :private_key, :now)"
        " ON CONFLICT (repo_id) DO NOTHING",
        repo_id=repo_id,
        key_id=str(secrets.randbelow(KEY_IDS)),
        public_key=_text(bytes(private.public_key)),
        private_key=db.vault.seal(_text(bytes(private))),
    )
    row = get(db, repo_id)
    assert row is not None, "it has just been created"
    return row


def private_key(db: Connection, repo_id: int, key_id: str, encrypted: str) -> bytes:
    """Decrypt a sealed box (base64). Raises Invalid for another key or a malformed box."""
    nacl = _nacl()
    row = get(db, repo_id)
    if row is None or row["key_id"] != key_id:
        raise _wrong("key_id", "it is not the id of the repository's public key")
    private = nacl.public.PrivateKey(base64.b64decode(db.vault.open(row["private_key"])))
    try:
        box = nacl.public.SealedBox(private)
        opened: bytes = box.decrypt(base64.b64decode(encrypted, validate=True))
    except binascii.Error:
        raise _wrong("encrypted_value", "it is not base64") from None
    except (nacl.exceptions.CryptoError, ValueError):
        raise _wrong("encrypted_value", "it was not sealed to the repository's key") from None
    return opened


def _nacl() -> Any:
    # Imported here, because the import takes long and few repositories have such secrets.
    import nacl.public

    return nacl


def _text(key: bytes) -> str:
    return base64.b64encode(key).decode()


def _wrong(field: str, message: str) -> Invalid:
    return Invalid(message, field=field, resource=RESOURCE)
