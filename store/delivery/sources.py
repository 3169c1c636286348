"""Sources: platforms that post their events to the hub, each with its own secret for signatures."""

import re

from store.database.connection import Connection, Row
from store.errors import Conflict, Invalid

NAME = re.compile(r"[a-z0-9](?:[a-z0-9_.-]{0,62}[a-z0-9])?")
# The limit is low because an event that names no source is checked with each source's secret.
MOST = 64
# In place of a source's id, for an operator's state document. It is above the ids of all sources.
OPERATOR = 2**62


def create(db: Connection, name: str, secret: str, *, owner_id: int | None = None) -> Row:
    """Create a source. Raises Invalid for a bad name or secret, Conflict if the name exists."""
    if not NAME.fullmatch(name):
        raise Invalid(f"{name!r} is no source name: use 1 to 64 of a-z, 0-9, '-', '_', '.'")
    sealed = _sealed(db, secret)
    if db.value("SELECT count(*) FROM source") >= MOST:
        raise Invalid(f"there are {MOST} sources already")
    row = db.one(
        "INSERT INTO source (name, secret, owner_id, created_at)"
        " VALUES (:name, :secret, :owner_id, :now) ON CONFLICT (name) DO NOTHING"
        " RETURNING id, name, owner_id, created_at",
        name=name,
        secret=sealed,
        owner_id=owner_id,
    )
    if row is None:
        raise Conflict(f"there is a source {name!r} already")
    return row


def _sealed(db: Connection, secret: str) -> bytes:
    if not secret:
        raise Invalid(
            "a source needs a secret: the hub accepts only events that are signed with it"
        )
    return db.vault.seal(secret)


def is_signed(event: Row) -> bool:
    """Return whether a source signed the event. Otherwise somebody posted it with a token."""
    return bool(event["source_id"] > 0)


def signed_of(event: Row, before: Row | None) -> int:
    """Return 1 if a source signed the event. A state document leaves the value of `before`."""
    if event["source_id"] == OPERATOR:
        return 0 if before is None else int(before["signed"])
    return int(is_signed(event))


def mark(before: Row | None, signed: int) -> Row:
    """Return the column `signed` of a reported object, and `reported_at` if that must not stay.

    The time in an unsigned event may be invented, so none counts for a source's event.
    """
    replaces = before is not None and before["signed"] < signed
    return {"signed": signed, **({"reported_at": None} if replaces else {})}


def every(db: Connection) -> list[Row]:
    """Return every source with its `owner` (a login or None), by name, without the secrets."""
    return db.all(
        "SELECT s.id, s.name, s.owner_id, a.login AS owner, s.created_at"
        " FROM source s LEFT JOIN account a ON a.id = s.owner_id ORDER BY s.name"
    )


def secrets(db: Connection) -> list[Row]:
    """Return every source with its sealed `secret` and its `owner` (a login or None), newest first.

    Decrypt a secret with the vault.
    """
    return db.all(
        "SELECT s.id, s.name, s.owner_id, s.secret, a.login AS owner"
        " FROM source s LEFT JOIN account a ON a.id = s.owner_id ORDER BY s.id DESC"
    )


def by_name(db: Connection, name: str) -> Row | None:
    """Return the source with this name, without its secret, or None."""
    return db.one("SELECT id, name, owner_id, created_at FROM source WHERE name = :name", name=name)


def get(db: Connection, source_id: int) -> Row | None:
    """Return the source with this id, without its secret, or None."""
    return db.one("SELECT id, name, owner_id, created_at FROM source WHERE id = :id", id=source_id)


def set_secret(db: Connection, source_id: int, secret: str) -> None:
    """Replace a source's secret. Raises Invalid if it is empty."""
    db.update("source", source_id, secret=_sealed(db, secret))


def remove(db: Connection, source_id: int) -> bool:
    """Delete a source; its events stay. Return False if there is no source with this id."""
    return db.delete("source", id=source_id) > 0
