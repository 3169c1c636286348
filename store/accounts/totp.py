"""One-time passwords (RFC 6238): six digits that an authenticator shows for 30 seconds."""

import base64
import binascii
import os
import re

from cryptography.hazmat.primitives.constant_time import bytes_eq
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from store.clock import SECOND
from store.database.connection import Connection
from store.errors import Invalid

DIGITS, STEP, DRIFT = 6, 30, 1
CODE = re.compile(rf"[0-9]{{{DIGITS}}}")
# Bytes. RFC 4226 wants 16 at least; 20 is what authenticators expect.
LEAST, LENGTH = 16, 20


def set_up(
    db: Connection, account_id: int, *, login: str, issuer: str, secret: str | None = None
) -> str:
    """Ask this account for one-time passwords from now on, in place of any other secret.

    Returns the otpauth:// URI, which holds the secret, for an authenticator. `secret` is base 32,
    made up here if not given. Invalid for one that is short or no base 32.
    """
    key = os.urandom(LENGTH) if secret is None else _decoded(secret)
    db.execute(
        "INSERT INTO one_time (account_id, secret, used_step, created_at)"
        " VALUES (:account_id, :secret, -1, :now) ON CONFLICT (account_id)"
        " DO UPDATE SET secret = excluded.secret, used_step = -1, created_at = excluded.created_at",
        account_id=account_id,
        secret=db.vault.seal(base64.b32encode(key).decode()),
        now=db.now,
    )
    return _totp(key).get_provisioning_uri(login, issuer)


def remove(db: Connection, account_id: int) -> bool:
    """Ask for none any more; False where none was asked for."""
    return (
        db.execute("DELETE FROM one_time WHERE account_id = :account_id", account_id=account_id) > 0
    )


def required(db: Connection, account_id: int) -> bool:
    """Whether this account needs a one-time password beside its password."""
    return _secret(db, account_id) is not None


def is_set_up(db: Connection, account_id: int, secret: str) -> bool:
    """Whether the account's codes are made from this secret, base 32."""
    kept = _secret(db, account_id)
    return kept is not None and bytes_eq(_decoded(db.vault.open(kept)), _decoded(secret))


def check(db: Connection, account_id: int, code: str) -> bool:
    """Whether `code` is the account's of this moment, or of the step before or after.

    A code that was good once is no more, nor are those before it: this writes.
    """
    kept = _secret(db, account_id)
    if kept is None or not CODE.fullmatch(code):
        return False
    step = _step_of(_totp(_decoded(db.vault.open(kept))), db.now // SECOND // STEP, code)
    if step is None:
        return False
    # Of two that come with the same code at the same time, one changes this row.
    return (
        db.execute(
            "UPDATE one_time SET used_step = :step"
            " WHERE account_id = :account_id AND used_step < :step",
            step=step,
            account_id=account_id,
        )
        > 0
    )


def _secret(db: Connection, account_id: int) -> bytes | None:
    sealed: bytes | None = db.value(
        "SELECT secret FROM one_time WHERE account_id = :account_id", account_id=account_id
    )
    return sealed


def _step_of(totp: TOTP, now: int, code: str) -> int | None:
    found = None
    for step in range(now - DRIFT, now + DRIFT + 1):
        if step >= 0 and bytes_eq(totp.generate(step * STEP), code.encode()):
            found = step
    return found


def _totp(key: bytes) -> TOTP:
    return TOTP(key, DIGITS, SHA1(), STEP, enforce_key_length=False)  # noqa: S303 - RFC 6238's


def _decoded(secret: str) -> bytes:
    bare = secret.replace(" ", "").rstrip("=").upper()
    try:
        key = base64.b32decode(bare + "=" * (-len(bare) % 8))
    except (binascii.Error, ValueError):
        raise Invalid("a one-time secret is written in base 32") from None
    if len(key) < LEAST:
        raise Invalid(f"a one-time secret has {LEAST} bytes at least")
    return key
