"""Exchanging a hook's secret so that its receiver misses nothing: for a while the former one goes
on signing beside the new one.
"""

from typing import Any, NamedTuple

from store.clock import DAY
from store.database.connection import Connection, Row
from store.errors import Invalid, Unusable

OVERLAP = DAY
MOST_OVERLAP = 7 * DAY


class Taken(NamedTuple):
    """Which secret a receiver has turned out to have, in the overlap that lasts `until` a moment
    (microseconds): the `new` one, or the former one after all.
    """

    until: int
    new: bool


def learn(db: Connection, hook_id: int, taken: Taken) -> None:
    """Keep which of its two secrets the hook's deliveries are signed with first from now on."""
    changed = db.execute(
        "UPDATE hook SET secret_taken = :new, version = version + 1 WHERE id = :id"
        " AND previous_until = :until AND secret_taken <> :new",
        id=hook_id,
        until=taken.until,
        new=int(taken.new),
    )
    if changed:
        courier = db.courier
        db.after_commit(lambda: courier.wake([hook_id]))


def previous_secret(db: Connection, hook: Row) -> tuple[str, int] | None:
    """The hook's former secret, opened, and until when (microseconds) it signs; None where it does
    no more, or does not open.
    """
    if hook["previous_secret"] is None or hook["previous_until"] <= db.now:
        return None
    try:
        return db.vault.open(hook["previous_secret"]), hook["previous_until"]
    except Unusable:
        return None


def rotated_columns(db: Connection, hook: Row, changes: dict[str, Any]) -> Row:
    """What a hook has as `secret`, `previous_secret` and `previous_until` after changes: `secret`
    is the new one, `overlap` for how long (microseconds) the one before still signs. Without an
    overlap it ends at once, and so does one that is running where `overlap` alone is given as 0.
    """
    overlap = changes.get("overlap", 0)
    if not 0 <= overlap <= MOST_OVERLAP:
        raise Invalid("secrets may overlap for 7 days at most", field="secret_overlap")
    kept = {name: hook[name] for name in ("secret", "previous_secret", "previous_until")}
    if "secret" in changes and not _is(db, hook, changes["secret"]):
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


def _is(db: Connection, hook: Row, secret: str | None) -> bool:
    if hook["secret"] is None or not secret:
        return hook["secret"] is None and not secret
    try:
        return db.vault.open(hook["secret"]) == secret
    except Unusable:
        return False


def drop_expired(db: Connection, before: int, limit: int) -> int:
    """Let go of former secrets whose time was over at a moment; returns how many."""
    return db.execute(
        "UPDATE hook SET previous_secret = NULL, previous_until = NULL WHERE id IN"
        " (SELECT id FROM hook WHERE previous_until <= :before ORDER BY previous_until"
        " LIMIT :limit)",
        before=before,
        limit=limit,
    )
