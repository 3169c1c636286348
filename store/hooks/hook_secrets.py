"""Rotation of a hook's secret: for a while, the former secret still signs beside the new one.

During that overlap, the receiver can change its secret at any time without missing a delivery.
"""

from typing import Any, NamedTuple

from store.clock import DAY
from store.database.connection import Connection, Row
from store.errors import Invalid, Unusable

OVERLAP = DAY
MOST_OVERLAP = 7 * DAY


class Taken(NamedTuple):
    """The secret that a receiver has been found to have during an overlap.

    `until` is the overlap's end in microseconds. `new` is whether it is the new secret.
    """

    until: int
    new: bool


def learn(db: Connection, hook_id: int, taken: Taken) -> None:
    """Record which of a hook's two secrets its receiver has. It signs first from now on."""
    changed = db.execute(
        "UPDATE hook SET secret_taken = :new, version = version + 1 WHERE id = :id"
        " AND previous_until = :until AND secret_taken <> :new",
        id=hook_id,
        until=taken.until,
        new=int(taken.new),
    )
    if changed:
        db.wake_after_commit([hook_id])


def previous_secret(db: Connection, hook: Row) -> tuple[str, int] | None:
    """Return the hook's former secret, decrypted, and the end of its overlap in microseconds.

    Return None if there is none, if the overlap has ended, or if the secret cannot be decrypted.
    """
    if hook["previous_secret"] is None or hook["previous_until"] <= db.now:
        return None
    try:
        return db.vault.open(hook["previous_secret"]), hook["previous_until"]
    except Unusable:
        return None


def overlap_end(db: Connection, hook: Row) -> int | None:
    """Return the end of the running overlap in microseconds. Return None if none runs."""
    until: int | None = hook["previous_until"]
    return until if until is not None and until > db.now else None


def rotated_columns(db: Connection, hook: Row, changes: dict[str, Any]) -> Row:
    """Return the `secret`, `previous_secret` and `previous_until` that a hook has after `changes`.

    `changes` may have a new `secret`, and an `overlap` in microseconds for which the former secret
    still signs. Without an overlap, the former secret ends at once. An `overlap` of 0 without a new
    secret ends a running overlap. Raises Invalid if the overlap is longer than 7 days.
    """
    overlap = changes.get("overlap", 0)
    if not 0 <= overlap <= MOST_OVERLAP:
        raise Invalid("secrets may overlap for 7 days at most", field="secret_overlap")
    kept = {name: hook[name] for name in ("secret", "previous_secret", "previous_until")}
    if "secret" in changes and not has_secret(db, hook, changes["secret"]):
        secret = changes["secret"]
        both = bool(overlap and secret) and hook["secret"] is not None
        return {
            "secret": db.vault.seal(secret) if secret else None,
            "previous_secret": hook["secret"] if both else None,
            "previous_until": db.now + overlap if both else None,
        }
    if "overlap" in changes and not overlap:
        return {**kept, "previous_secret": None, "previous_until": None}
    return kept


def has_secret(db: Connection, hook: Row, secret: str | None) -> bool:
    """Return whether this is the hook's secret. None and an empty one stand for no secret."""
    if hook["secret"] is None or not secret:
        return hook["secret"] is None and not secret
    try:
        return db.vault.open(hook["secret"]) == secret
    except Unusable:
        return False


def drop_expired(db: Connection, before: int, limit: int) -> int:
    """Delete former secrets whose overlap ended by the time `before`. Return their number."""
    return db.execute(
        "UPDATE hook SET previous_secret = NULL, previous_until = NULL WHERE id IN"
        " (SELECT id FROM hook WHERE previous_until <= :before ORDER BY previous_until"
        " LIMIT :limit)",
        before=before,
        limit=limit,
    )
