"""The keys with which apps sign their requests for tokens. Only public halves are stored."""

import hashlib

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from store.database.connection import Connection, Row
from store.errors import Conflict, Invalid

BITS, MOST_BITS = 2048, 8192
MOST_KEYS = 25
PEM = serialization.Encoding.PEM
FORM = serialization.PublicFormat.SubjectPublicKeyInfo


def generate() -> tuple[str, str]:
    """Return a new private key (PKCS#1) and its public half, both as PEM. It takes a while."""
    private = rsa.generate_private_key(public_exponent=65_537, key_size=BITS)
    written = private.private_bytes(
        PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    return written.decode(), private.public_key().public_bytes(PEM, FORM).decode()


def create(db: Connection, app_id: int) -> tuple[str, Row]:
    """Create a key. Return its private half as `generate` does, which is not stored, and its row.

    The transaction lasts as long as that takes.
    """
    private, public = generate()
    return private, add(db, app_id, public)


def add(db: Connection, app_id: int, pem: str) -> Row:
    """Store the public half of a key, given as PEM. Raises Invalid if it is no RSA key.

    Raises Conflict if this or another app has the key already.
    """
    return _store(db, app_id, _public_key(pem))


def _public_key(pem: str) -> rsa.RSAPublicKey:
    try:
        key = serialization.load_pem_public_key(pem.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise Invalid("this is not a public key in the PEM format", field="key") from None
    if not isinstance(key, rsa.RSAPublicKey) or not BITS <= key.key_size <= MOST_BITS:
        raise Invalid(
            f"an app's key is an RSA key of {BITS} to {MOST_BITS} bits, for RS256", field="key"
        )
    return key


def _store(db: Connection, app_id: int, key: rsa.RSAPublicKey) -> Row:
    if len(of_app(db, app_id)) >= MOST_KEYS:
        raise Conflict(f"an app has at most {MOST_KEYS} keys: revoke one first")
    row = db.one(
        "INSERT INTO app_key (app_id, public_key, fingerprint, created_at)"
        " VALUES (:app_id, :public_key, :fingerprint, :now) ON CONFLICT (fingerprint) DO NOTHING"
        " RETURNING id, app_id, public_key, fingerprint, created_at",
        app_id=app_id,
        public_key=key.public_bytes(PEM, FORM).decode(),
        fingerprint=_fingerprint(key),
    )
    if row is None:
        raise Conflict("an app has this key already")
    return row


def fingerprint_of(pem: str) -> str:
    """Return the fingerprint of a public key. Raises Invalid as `add` does."""
    return _fingerprint(_public_key(pem))


def _fingerprint(key: rsa.RSAPublicKey) -> str:
    return hashlib.sha256(key.public_bytes(serialization.Encoding.DER, FORM)).hexdigest()


def of_app(db: Connection, app_id: int) -> list[Row]:
    """Return the keys of an app, oldest first."""
    return db.all(
        "SELECT id, app_id, public_key, fingerprint, created_at FROM app_key"
        " WHERE app_id = :app_id ORDER BY id",
        app_id=app_id,
    )


def list_all(db: Connection) -> list[Row]:
    """Return the keys of all apps, oldest first. `app` is the app's name."""
    return db.all(
        "SELECT k.id, k.app_id, k.fingerprint, k.created_at, a.name AS app"
        " FROM app_key k JOIN app a ON a.id = k.app_id ORDER BY k.id"
    )


def revoke(db: Connection, app_id: int, key_id: int) -> bool:
    """Delete a key. Return False if the app has no key with this id."""
    return db.delete("app_key", app_id=app_id, id=key_id) > 0
