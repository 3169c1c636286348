"""Whether the audit log is what was written, and letting go of its oldest part so that this can
still be told.
"""

from dataclasses import dataclass, field
from typing import Any

import orjson

from store.audit.audit_log import (
    CONTENT,
    PRUNED,
    Actor,
    AuditEntry,
    add,
    chain_head,
    chain_key,
    entry_digest,
)
from store.clock import DAY
from store.database.connection import Connection

MOST_TOLD = 20
PRUNER = Actor("retention", "daemon")


@dataclass(slots=True)
class Chain:
    """How far a log was checked, and what was found. `begun` is the first entry it has."""

    number: int = 0
    digest: bytes = b""
    begun: int = 1
    count: int = 0
    problems: list[str] = field(default_factory=list)

    def told(self, problem: str) -> None:
        """Remember what is wrong, up to a number of things."""
        if len(self.problems) < MOST_TOLD:
            self.problems.append(problem)


def start_check(db: Connection) -> Chain:
    """Where checking starts: at the first entry, or behind those that were let go of."""
    found = db.tuples(
        "SELECT through, details FROM audit WHERE through IS NOT NULL ORDER BY through DESC LIMIT 1"
    )
    if not found:
        return Chain()
    through, details = found[0]
    return Chain(through, bytes.fromhex(orjson.loads(details)["digest"]), through + 1)


def check(db: Connection, chain: Chain, limit: int) -> bool:
    """Check the next entries; False once there are none."""
    rows = db.tuples(
        f"SELECT {CONTENT}, digest FROM audit WHERE id > :after ORDER BY id LIMIT :limit",
        after=chain.number,
        limit=limit,
    )
    key = chain_key(db) if rows else b""
    for *content, digest in rows:
        _link(chain, key, tuple(content), bytes(digest))
    return bool(rows)


def _link(chain: Chain, key: bytes, content: tuple[Any, ...], digest: bytes) -> None:
    number = content[0]
    if number != chain.number + 1:
        chain.told(f"entries {chain.number + 1} to {number - 1} are missing")
    elif digest != entry_digest(key, chain.digest, content):
        chain.told(f"entry {number} is not what was written, or the one before it is not")
    chain.number, chain.digest = number, digest
    chain.count += 1


def has_digest(db: Connection, number: int, digest: str) -> bool:
    """Whether the entry of this number has this digest, written in hexadecimal."""
    found = db.value("SELECT digest FROM audit WHERE id = :id", id=number)
    return found is not None and bytes(found).hex() == digest.lower()


def record_pruning(db: Connection, before: int) -> None:
    """Say that what was written before a moment is let go of. Once a day at most, for saying so is
    an entry, too.
    """
    kept = "SELECT min(id) FROM audit WHERE id > :through"
    through = _through(db)
    oldest = db.value(f"SELECT at FROM audit WHERE id = ({kept})", through=through)
    if oldest is None or oldest >= before - DAY:
        return
    number, digest, _ = chain_head(db)
    first = db.value(f"{kept} AND at >= :before", through=through, before=before)
    if first is not None:
        number = first - 1
        digest = bytes(db.value("SELECT digest FROM audit WHERE id = :id", id=number))
    ids = {"through": number, "digest": digest.hex()}
    add(db, AuditEntry(PRUNER, PRUNED, f"1..{number}", "done", ids=ids, through=number))


def _through(db: Connection) -> int:
    found = db.value("SELECT max(through) FROM audit WHERE through IS NOT NULL")
    return found or 0


def drop(db: Connection, before: int, limit: int) -> int:
    """Forget entries that `let_go` has said are; returns how many (fewer than `limit`: all)."""
    return db.execute(
        "DELETE FROM audit WHERE id IN"
        " (SELECT id FROM audit WHERE id <= :through ORDER BY id LIMIT :limit)",
        through=_through(db),
        limit=limit,
    )
