"""The audit log: a record of all changes.

Entries are only added. Each entry's digest covers the one before, so that changes behind the
store's back are found. The digests need a key that is encrypted like any secret, so that access to
the database alone is not enough to forge them. Entries are written at the end of the transaction of
the change: all entries of a group read the end of the chain once.
"""

import hmac
import os
from dataclasses import dataclass, field
from typing import Any

import orjson

from store.clock import LATEST
from store.database.connection import Connection

CONTENT = (
    "id, at, actor, via, account_id, token_id, address, action, target, outcome, request_id,"
    " details, through"
)
PRUNED = "audit prune"
LONGEST, MOST_FIELDS = 500, 100
# In SQLite, a forged value may have any type. Texts are greater than numbers, and bytes than texts.
DIGEST = "CASE WHEN digest >= :no_bytes THEN digest END"
"""The digest of an entry as SQL, or NULL if it is not bytes. `no_bytes` is empty."""


@dataclass(frozen=True, slots=True)
class Actor:
    """The author of a change.

    `via` is the credential: token, password, app, link, command or daemon.
    """

    name: str
    via: str
    account_id: int | None = None
    token_id: int | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An action, its target and its outcome.

    `fields` are the names of changed fields. `ids` identify a target that is new or may be renamed.
    Neither may contain values of fields.
    """

    actor: Actor
    action: str
    target: str
    outcome: str
    request_id: str | None = None
    fields: tuple[str, ...] = ()
    ids: dict[str, Any] = field(default_factory=dict)
    through: int | None = None

    def details(self) -> str:
        """Return the details as JSON."""
        named = {"fields": list(self.fields[:MOST_FIELDS])} if self.fields else {}
        return orjson.dumps({**named, **self.ids}).decode()


def add(db: Connection, entry: AuditEntry) -> None:
    """Write an entry at the end of this transaction. After a rollback it is not written."""
    # Every transaction with an entry waits for this lock, so that it is held most briefly.
    db.before_commit(_append, entry, last=True)


def _append(db: Connection, entries: list[AuditEntry]) -> None:
    db.alone("audit")
    number, digest, at = chain_head(db)
    # Times never decrease, even if the clock is set back: a search by time uses the order of
    # numbers.
    at = max(at, db.now)
    key = chain_key(db)
    rows = []
    for entry in entries:
        number += 1
        content = _content(number, at, entry)
        digest = entry_digest(key, digest, content)
        rows.append((*content, digest))
    db.insert_many("audit", f"{CONTENT}, digest", rows)


def chain_head(db: Connection) -> tuple[int, bytes, int]:
    """Return number, digest and time of the latest entry. An empty log has 0, empty bytes and 0."""
    found = db.tuples(
        f"SELECT id, {DIGEST}, CASE WHEN at <= :last THEN at ELSE 0 END"
        " FROM audit ORDER BY id DESC LIMIT 1",
        no_bytes=b"",
        last=LATEST,
    )
    return (found[0][0], bytes(found[0][1] or b""), found[0][2]) if found else (0, b"", 0)


def _content(number: int, at: int, entry: AuditEntry) -> tuple[Any, ...]:
    actor = entry.actor
    return (
        number,
        at,
        _short(actor.name),
        actor.via,
        actor.account_id,
        actor.token_id,
        actor.address,
        entry.action,
        _short(entry.target),
        _short(entry.outcome),
        entry.request_id,
        entry.details(),
        entry.through,
    )


def _short(text: str) -> str:
    # No engine can store NUL in a text.
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")[:LONGEST]


def entry_digest(key: bytes, before: bytes, content: tuple[Any, ...]) -> bytes:
    """Return the digest of an entry's content that follows an entry with the digest `before`."""
    return hmac.digest(key, before + orjson.dumps(content), "sha256")


def chain_key(db: Connection) -> bytes:
    """Return the chain's key, and create it for the first entry. Raises Unusable."""
    sealed = db.value("SELECT secret FROM audit_chain WHERE id = 1")
    if sealed is not None:
        return bytes.fromhex(db.vault.open(sealed))
    key = os.urandom(32)
    db.execute(
        "INSERT INTO audit_chain (id, secret) VALUES (1, :secret)",
        secret=db.vault.seal(key.hex()),
    )
    return key
