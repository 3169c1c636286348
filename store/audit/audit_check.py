"""The check that the audit log is unchanged, and the deletion of its oldest part.

After a deletion, the rest can still be checked.
"""

import contextlib
from dataclasses import dataclass, field, replace
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
from store.database.audit_triggers import RELEASING, THROUGH
from store.database.connection import Connection

MOST_TOLD = 20
# A pruning records so many problems of the deleted part at most.
MOST_KEPT = 3
LAST = (1 << 63) - 1
PRUNER = Actor("retention", "daemon")


@dataclass(slots=True)
class Chain:
    """The progress of a check and its findings. `first` is the number of the log's first entry.

    `found` are problems of the checked entries, and `earlier` are problems of deleted ones.
    """

    number: int = 0
    digest: bytes = b""
    first: int = 1
    count: int = 0
    found: list[str] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """Return all problems, up to MOST_TOLD of them."""
        return [*self.earlier, *self.found][:MOST_TOLD]

    def copy(self) -> "Chain":
        """Return a copy to go on with, for a read that may run twice."""
        return replace(self, found=[*self.found], earlier=[*self.earlier])

    def report(self, problem: str) -> None:
        """Add a problem, up to MOST_TOLD of them."""
        if len(self.found) < MOST_TOLD:
            self.found.append(problem)


def start_check(db: Connection) -> Chain:
    """Return where the check starts: at the first entry, or after the deleted ones.

    The check itself covers the entry that released those.
    """
    found = db.tuples(
        f"SELECT through, details FROM audit WHERE {RELEASING} ORDER BY through DESC LIMIT 1"
    )
    if not found:
        return Chain()
    through, details = found[0]
    return Chain(through, _released_digest(details), through + 1)


def _released_digest(details: str) -> bytes:
    """Return the digest in the details of a pruning. In forged details it may be missing."""
    with contextlib.suppress(ValueError, TypeError, KeyError):
        return bytes.fromhex(orjson.loads(details)["digest"])
    return b""


def check(db: Connection, chain: Chain, limit: int, last: int = LAST) -> bool:
    """Check the next entries, up to `last`. Return False if there are none."""
    rows = db.tuples(
        f"SELECT {CONTENT}, digest FROM audit WHERE id > :after AND id <= :last"
        " ORDER BY id LIMIT :limit",
        after=chain.number,
        last=last,
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
    elif content[-1] is not None:
        chain.earlier += _problems_before(number, content[-2])
    chain.number, chain.digest = number, digest
    chain.count += 1


def _problems_before(number: int, details: str) -> list[str]:
    """Return the problems of the entries that the pruning with this number let go."""
    kept = orjson.loads(details).get("problems", ())
    return [f"{problem} (before entry {number} let it be deleted)" for problem in kept]


def has_digest(db: Connection, number: int, digest: str) -> bool:
    """Return whether the entry with this number has this digest (hexadecimal)."""
    found = db.value("SELECT digest FROM audit WHERE id = :id", id=number)
    return found is not None and bytes(found).hex() == digest.lower()


def last_before(db: Connection, before: int) -> int:
    """Return the number of the last entry before a time if it is time to prune, or else 0.

    That is so once a day at most, because the record of a pruning is an entry, too.
    """
    kept = "SELECT min(id) FROM audit WHERE id > :through"
    through = _through(db)
    oldest = db.value(f"SELECT at FROM audit WHERE id = ({kept})", through=through)
    if oldest is None or oldest >= before - DAY:
        return 0
    first = db.value(f"{kept} AND at >= :before", through=through, before=before)
    return chain_head(db)[0] if first is None else first - 1


def record_pruning(db: Connection, chain: Chain) -> None:
    """Record that all entries that `chain` has checked may be deleted.

    The record keeps the problems of these entries. So each check of the rest reports them.
    """
    ids: dict[str, Any] = {"through": chain.number, "digest": chain.digest.hex()}
    if chain.found:
        ids["problems"] = chain.found[:MOST_KEPT]
    target = f"1..{chain.number}"
    add(db, AuditEntry(PRUNER, PRUNED, target, "done", ids=ids, through=chain.number))


def _through(db: Connection) -> int:
    found: int = db.value(f"SELECT {THROUGH}")
    return found


def drop(db: Connection, before: int, limit: int) -> int:
    """Delete entries that `record_pruning` released. Return how many (fewer than `limit`: all)."""
    return db.execute(
        "DELETE FROM audit WHERE id IN"
        " (SELECT id FROM audit WHERE id <= :through ORDER BY id LIMIT :limit)",
        through=_through(db),
        limit=limit,
    )
