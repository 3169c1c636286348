"""Sources: platforms that post their events here, each signing with a secret of its own."""

import re

from store.database.connection import Connection, Row
from store.errors import Conflict, Invalid

NAME = re.compile(r"[a-z0-9](?:[a-z0-9_.-]{0,62}[a-z0-9])?")
# An event that names no source is tried against each one's secret.
MOST = 64


def create(db: Connection, name: str, secret: str, *, owner_id: int | None = None) -> Row:
    """Make a source. Invalid, or Conflict for a name that is taken."""
    if not NAME.fullmatch(name):
        raise Invalid(f"{name!r} is no source name: 1 to 64 of a-z, 0-9, '-', '_', '.'")
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
        now=db.now,
    )
    if row is None:
        raise Conflict(f"there is a source {name!r} already")
    return row


def _sealed(db: Connection, secret: str) -> bytes:
    if not secret:
        raise Invalid("a source needs a secret: its events are believed for their signature")
    return db.vault.seal(secret)


def every(db: Connection) -> list[Row]:
    """Every source with its `owner` (a login or None), by name; never a secret."""
    return db.all(
        "SELECT s.id, s.name, s.owner_id, a.login AS owner, s.created_at"
        " FROM source s LEFT JOIN account a ON a.id = s.owner_id ORDER BY s.name"
    )


def secrets(db: Connection) -> list[Row]:
    """Every source with its `secret` sealed, and its `owner` (a login or None); open the secret
    with the vault.
    """
    return db.all(
        "SELECT s.id, s.name, s.owner_id, s.secret, a.login AS owner"
        " FROM source s LEFT JOIN account a ON a.id = s.owner_id ORDER BY s.id DESC"
    )


def by_name(db: Connection, name: str) -> Row | None:
    """The source of this name, without its secret."""
    return db.one("SELECT id, name, owner_id, created_at FROM source WHERE name = :name", name=name)


def get(db: Connection, source_id: int) -> Row | None:
    """The source with this id, without its secret."""
    return db.one("SELECT id, name, owner_id, created_at FROM source WHERE id = :id", id=source_id)


def set_secret(db: Connection, source_id: int, secret: str) -> None:
    """Replace a source's secret. Invalid for an empty one."""
    db.execute(
        "UPDATE source SET secret = :secret WHERE id = :id",
        secret=_sealed(db, secret),
        id=source_id,
    )


def remove(db: Connection, source_id: int) -> bool:
    """End a source; its events stay. False if there is none of this id."""
    return db.execute("DELETE FROM source WHERE id = :id", id=source_id) > 0
