"""The Ed25519 keys with which a hook's deliveries are signed as `v1a`.

Each hook has keys of its own. After a rotation, the former key signs beside the new one for a
while. Public keys are published as a set, whose id names no hook.
"""

import secrets
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import Any

from store.clock import DAY
from store.crypto import ed25519
from store.database.connection import Connection, Row
from store.errors import Invalid, Missing, Unusable

ASYMMETRIC = "v1a"
OVERLAP = DAY
MOST_OVERLAP = 7 * DAY
COLUMNS = "id, hook_id, public, created_at, ends_at"
ACTIVE = "(ends_at IS NULL OR ends_at > :now)"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key. It signs until `until`, in microseconds; None: it is the present key."""

    seed: bytes = field(repr=False)
    until: int | None


def is_wanted(options: dict[str, Any]) -> bool:
    """Return whether delivery options ask for signatures with a key."""
    return ASYMMETRIC in (options.get("signatures") or ())


def ensure(db: Connection, hook_id: int, key_set: str | None, seed: bytes | None = None) -> str:
    """Create the first key of a hook if it has none. Return the id of its key set."""
    if key_set is not None:
        return key_set
    key_set = secrets.token_urlsafe(16)
    db.update("hook", hook_id, key_set=key_set)
    _insert(db, hook_id, seed or ed25519.new_seed())
    return key_set


def _insert(db: Connection, hook_id: int, seed: bytes) -> None:
    db.execute(
        "INSERT INTO signing_key (hook_id, private, public, created_at)"
        " VALUES (:hook_id, :private, :public, :now)",
        hook_id=hook_id,
        private=db.vault.seal(ed25519.write_private(seed)),
        public=b64encode(ed25519.public_of(seed)).decode(),
    )


def rotate(db: Connection, hook: Row, private: str | None = None, overlap: int = OVERLAP) -> None:
    """Give a hook a new key: `private`, or a random one.

    The present key signs for `overlap` microseconds more (by default a day), an earlier one no
    longer. If `private` is the present key, nothing changes. Raises Invalid if the key cannot be
    read, or if the overlap is longer than 7 days. Raises Missing if the hook was deleted meanwhile.
    """
    if not 0 <= overlap <= MOST_OVERLAP:
        raise Invalid("keys may overlap for 7 days at most", field="overlap", resource="Hook")
    seed = ed25519.new_seed() if private is None else _read(private)
    ensure(db, hook["id"], _lock(db, hook["id"]), seed)
    if has_key(db, hook["id"], seed):
        return
    end_overlap(db, hook)
    db.execute(
        "UPDATE signing_key SET ends_at = :until WHERE hook_id = :hook_id AND ends_at IS NULL",
        until=db.now + overlap,
        hook_id=hook["id"],
    )
    _insert(db, hook["id"], seed)
    _mark_changed(db, hook["id"])


def _lock(db: Connection, hook_id: int) -> str | None:
    """Lock the hook until the transaction ends, so that its keys are rotated one after the other.

    Return the id of its key set, or None. Raises Missing if the hook was deleted meanwhile.
    """
    row = db.one(
        f"SELECT key_set FROM hook WHERE id = :id AND deleted_at IS NULL{db.for_change}",
        id=hook_id,
    )
    if row is None:
        raise Missing(f"there is no hook {hook_id}")
    key_set: str | None = row["key_set"]
    return key_set


def _read(private: str) -> bytes:
    try:
        return ed25519.read_private(private)
    except ValueError as error:
        raise Invalid(str(error), field="private_key", resource="Hook") from None


def is_present(db: Connection, hook_id: int, private: str | None) -> bool:
    """Return whether a given private key is the hook's present one. Raises Invalid."""
    return private is not None and has_key(db, hook_id, _read(private))


def has_key(db: Connection, hook_id: int, seed: bytes) -> bool:
    """Return whether this is a hook's present key."""
    public = b64encode(ed25519.public_of(seed)).decode()
    return any(
        row["public"] == public and row["ends_at"] is None for row in public_keys(db, hook_id)
    )


def overlap_end(db: Connection, hook_id: int) -> int | None:
    """Return the end of the running overlap in microseconds. Return None if none runs."""
    ends = (row["ends_at"] for row in public_keys(db, hook_id) if row["ends_at"] is not None)
    return max(ends, default=None)


def end_overlap(db: Connection, hook: Row) -> None:
    """Let the present key alone sign from now on."""
    ended = db.execute(
        "DELETE FROM signing_key WHERE hook_id = :hook_id AND ends_at IS NOT NULL",
        hook_id=hook["id"],
    )
    if ended:
        _mark_changed(db, hook["id"])


def _mark_changed(db: Connection, hook_id: int) -> None:
    db.execute(
        "UPDATE hook SET version = version + 1, updated_at = :now WHERE id = :id", id=hook_id
    )
    db.wake_after_commit([hook_id])


def public_keys(db: Connection, hook_id: int) -> list[Row]:
    """Return the public parts of the keys that sign, the present one first."""
    return db.all(
        f"SELECT {COLUMNS} FROM signing_key WHERE hook_id = :hook_id AND {ACTIVE} ORDER BY id DESC",
        hook_id=hook_id,
    )


def key_set(db: Connection, name: str) -> list[Row] | None:
    """Return the public keys of the set with this id. Return None if there is no such set."""
    hook_id = db.value(
        "SELECT id FROM hook WHERE key_set = :name AND deleted_at IS NULL", name=name
    )
    return None if hook_id is None else public_keys(db, hook_id)


def public_bytes(row: Row) -> bytes:
    return b64decode(row["public"])


def wanted_keys(db: Connection, hook_id: int, options: dict[str, Any]) -> list[SigningKey]:
    """Return the keys that sign, as `private_keys` does. Empty if the options ask for none."""
    return private_keys(db, hook_id) if is_wanted(options) else []


def private_keys(db: Connection, hook_id: int) -> list[SigningKey]:
    """Return the keys that sign, the present one first. Raises Unusable if one does not decrypt."""
    rows = db.all(
        f"SELECT private, ends_at FROM signing_key WHERE hook_id = :hook_id AND {ACTIVE}"
        " ORDER BY id DESC",
        hook_id=hook_id,
    )
    try:
        return [
            SigningKey(ed25519.read_private(db.vault.open(row["private"])), row["ends_at"])
            for row in rows
        ]
    except ValueError as error:
        raise Unusable(f"a signing key is damaged: {error}") from None


def drop_expired(db: Connection, before: int, limit: int) -> int:
    """Delete keys whose overlap ended by the time `before`. Return their number."""
    return db.execute(
        "DELETE FROM signing_key WHERE id IN (SELECT id FROM signing_key"
        " WHERE ends_at <= :before ORDER BY ends_at LIMIT :limit)",
        before=before,
        limit=limit,
    )
