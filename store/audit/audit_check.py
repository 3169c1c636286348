"""The check that the audit log is unchanged, and the deletion of its oldest part.

After a deletion, the rest can still be checked.
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
    """The progress of a check and its findings. `first` is the number of the log's first entry."""

    number: int = 0
    digest: bytes = b""
    first: int = 1
    count: int = 0
    problems: list[str] = field(default_factory=list)

    def report(self, problem: str) -> None:
        """Add a problem, up to MOST_TOLD of them."""
        if len(self.problems) < MOST_TOLD:
            self.problems.append(problem)


def start_check(db: Connection) -> Chain:
    """Return where the check starts: at the first entry, or after the deleted ones."""
    found = db.tuples(
        "SELECT through, details FROM audit WHERE through IS NOT NULL ORDER BY through DESC LIMIT 1"
    )
    if not found:
        return Chain()
    through, details = found[0]
    return Chain(through, bytes.fromhex(orjson.loads(details)["digest"]), through + 1)


def check(db: Connection, chain: Chain, limit: int) -> bool:
    """Check the next entries. Return False after the last one."""
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
        chain.report(f"entries {chain.number + 1} to {number - 1} are missing")
    elif digest != entry_digest(key, chain.digest, content):
        chain.report(f"entry {number} is not what was written, or the one before it is not")
    chain.number, chain.digest = number, digest
    chain.count += 1


def has_digest(db: Connection, number: int, digest: str) -> bool:
    """Return whether the entry with this number has this digest (hexadecimal)."""
    found = db.value("SELECT digest FROM audit WHERE id = :id", id=number)
    return found is not None and bytes(found).hex() == digest.lower()


def record_pruning(db: Connection, before: int) -> None:
    """Record that all entries before a time may be deleted.

    Do so at most once a day, because the record is an entry, too.
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
    """Delete entries that `record_pruning` released. Return how many (fewer than `limit`: all)."""
    return db.execute(
        "DELETE FROM audit WHERE id IN"
        " (SELECT id FROM audit WHERE id <= :through ORDER BY id LIMIT :limit)",
        through=_through(db),
        limit=limit,
    )
