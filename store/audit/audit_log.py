"""The audit log: who changed what. It is only added to, and every entry's digest covers the one
before, so that whoever changes it behind the store's back is noticed.

The digests are made with a key that is sealed like any secret: who has the database alone cannot
make others. Entries are written as the last thing in the transaction of the change, all of a group
with one look at the end of the chain.
"""

import hmac
import os
from dataclasses import dataclass, field
from typing import Any

import orjson

from store.database.connection import Connection, Row

CONTENT = (
    "id, at, actor, via, account_id, token_id, address, action, target, outcome, request_id,"
    " details, through"
)
PRUNED = "audit prune"
LONGEST, MOST_FIELDS = 500, 100


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it. `via` is what shows it: token, password, app, link, command or daemon."""

    name: str
    via: str
    account_id: int | None = None
    token_id: int | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """What was done, on what, and how it ended. `fields` are the names of what was changed, `ids`
    say what a target is called that may be renamed, or was just made. No value belongs in any.
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
        """As JSON."""
        named = {"fields": list(self.fields[:MOST_FIELDS])} if self.fields else {}
        return orjson.dumps({**named, **self.ids}).decode()


def add(db: Connection, entry: AuditEntry) -> None:
    """Have an entry written with this transaction, or not at all."""
    db.before_commit(_append, entry)


def _append(db: Connection, entries: list[AuditEntry]) -> None:
    db.alone("audit")
    number, digest, at = chain_head(db)
    # Also where the clock was set back: what is found by time is found by number.
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
    """Number, digest and time of the latest entry; 0 and nothing before the first."""
    found = db.tuples("SELECT id, digest, at FROM audit ORDER BY id DESC LIMIT 1")
    return (found[0][0], bytes(found[0][1]), found[0][2]) if found else (0, b"", 0)


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
    # No engine's text holds a NUL.
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")[:LONGEST]


def entry_digest(key: bytes, before: bytes, content: tuple[Any, ...]) -> bytes:
    """The digest of an entry's content, after an entry with the digest `before`."""
    return hmac.digest(key, before + orjson.dumps(content), "sha256")


def chain_key(db: Connection) -> bytes:
    """The chain's key, made at its first link. Unusable where it does not open."""
    sealed = db.value("SELECT secret FROM audit_chain WHERE id = 1")
    if sealed is not None:
        return bytes.fromhex(db.vault.open(sealed))
    key = os.urandom(32)
    db.execute(
        "INSERT INTO audit_chain (id, secret) VALUES (1, :secret)",
        secret=db.vault.seal(key.hex()),
    )
    return key


def page(
    db: Connection,
    *,
    limit: int,
    before: int | None = None,
    since: int | None = None,
    actor: str | None = None,
    action: str | None = None,
) -> list[Row]:
    """The newest entries, before this number, not before this moment, by this actor, of this
    action; `details` as an object.
    """
    given = {"before": before, "since": since, "actor": actor, "action": action}
    bounds = {
        "before": "id < :before",
        "since": "id >= (SELECT id FROM audit WHERE at >= :since ORDER BY at, id LIMIT 1)",
        "actor": "actor = :actor",
        "action": "action = :action",
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    where = " AND ".join(bounds[name] for name in chosen) or "1 = 1"
    rows = db.all(
        f"SELECT {CONTENT} FROM audit WHERE {where} ORDER BY id DESC LIMIT :limit",
        limit=limit,
        **chosen,
    )
    for row in rows:
        row["details"] = orjson.loads(row["details"])
    return rows


def latest_entry(db: Connection, action: str) -> Row | None:
    """The newest entry of an action."""
    return next(iter(page(db, limit=1, action=action)), None)
