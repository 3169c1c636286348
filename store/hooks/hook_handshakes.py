"""Handshakes: a receiver's consent to deliveries, which a hook may ask for.

Until the receiver consents, nothing is sent to it. The worker asks before the first delivery.
"""

from typing import Any

from store.database.connection import Connection
from store.endpoint_access.handshake import FAILED, GRANTED
from store.hooks import hooks


def grant(db: Connection, hook_id: int, version: int, rate: int | None) -> None:
    """Record that the receiver consents to `rate` requests a minute. None: to any number.

    If the hook was changed since `version`, do nothing.
    """
    _record(db, hook_id, version, "handshake = :state, handshake_rate = :rate", GRANTED, rate=rate)


def fail(db: Connection, hook_id: int, version: int, problem: str) -> None:
    """Record that the receiver does not consent, and pause the hook for this reason.

    If the hook was changed since `version`, do nothing.
    """
    reason = f"the handshake failed: {problem}"
    changes = "handshake = :state, paused_at = COALESCE(paused_at, :now), pause_reason = :reason"
    _record(db, hook_id, version, changes, FAILED, reason=reason)


def _record(
    db: Connection, hook_id: int, version: int, changes: str, state: str, **values: Any
) -> None:
    db.execute(
        f"UPDATE hook SET {changes}, version = version + 1, updated_at = :now"
        " WHERE id = :id AND version = :version AND deleted_at IS NULL",
        id=hook_id,
        version=version,
        state=state,
        **values,
    )
    hooks.notify_changed(db, hook_id)
