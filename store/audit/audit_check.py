"""The check that the audit log is unchanged, and the deletion of its oldest part.

After a deletion, the rest can still be checked.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from store.audit.audit_log import (
    CONTENT,
    DIGEST,
    PRUNED,
    Actor,
    AuditEntry,
    add,
    chain_head,
    chain_key,
    entry_digest,
)
from store.clock import DAY, LATEST
from store.database.audit_triggers import RELEASING, THROUGH
from store.database.connection import Connection
from store.errors import NotUtf8

MOST_TOLD = 20
# A pruning records so many problems of the deleted part at most.
MOST_KEPT = 3
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
        f"SELECT through, id FROM audit WHERE {RELEASING} ORDER BY through DESC LIMIT 1"
    )
    if not found:
        return Chain()
    through, number = found[0]
    return Chain(through, _released_digest(db, number), through + 1)


def _released_digest(db: Connection, number: int) -> bytes:
    """Return the digest in the details of a pruning. In forged details it may be missing."""
    with contextlib.suppress(NotUtf8, ValueError, TypeError, KeyError):
        details = db.value("SELECT details FROM audit WHERE id = :id", id=number)
        return bytes.fromhex(orjson.loads(details)["digest"])
    return b""


def check(db: Connection, chain: Chain, limit: int, last: int = LATEST) -> bool:
    """Check the next entries, up to `last`. Return False if there are none."""
    rows = _entries(db, chain.number, last, limit)
    key = chain_key(db) if rows else b""
    for *content, digest in rows:
        _link(chain, key, tuple(content), bytes(digest or b""))
    return bool(rows)


def _entries(db: Connection, after: int, last: int, limit: int) -> Sequence[tuple[Any, ...]]:
    """Return the next entries: their content, and their digest or None."""
    where = "FROM audit WHERE id > :after AND id <= :last ORDER BY id LIMIT :limit"
    given = {"after": after, "last": last, "limit": limit}
    try:
        return db.tuples(f"SELECT {CONTENT}, {DIGEST} {where}", no_bytes=b"", **given)
    except NotUtf8:
        return [_entry(db, number) for number in db.column(f"SELECT id {where}", **given)]


def _entry(db: Connection, number: int) -> tuple[Any, ...]:
    """Return an entry. Without its content, only the number and the digest are returned."""
    for columns in (CONTENT, "id"):
        with contextlib.suppress(NotUtf8):
            sql = f"SELECT {columns}, {DIGEST} FROM audit WHERE id = :id"
            (found,) = db.tuples(sql, no_bytes=b"", id=number)
            return found
    raise AssertionError("numbers and bytes are always decodable")


def _link(chain: Chain, key: bytes, content: tuple[Any, ...], digest: bytes) -> None:
    number = content[0]
    if number != chain.number + 1:
        chain.report(f"entries {chain.number + 1} to {number - 1} are missing")
    elif not _is_genuine(key, chain.digest, content, digest):
        chain.report(f"entry {number} is not what was written, or the one before it is not")
    elif content[-1] is not None:
        chain.earlier += _problems_before(number, content[-2])
    chain.number, chain.digest = number, digest
    chain.count += 1


def _is_genuine(key: bytes, before: bytes, content: tuple[Any, ...], digest: bytes) -> bool:
    # No digest is made of values of other types, which SQLite stores too.
    with contextlib.suppress(TypeError):
        return digest == entry_digest(key, before, content)
    return False


def _problems_before(number: int, details: str) -> list[str]:
    """Return the problems of the entries that the pruning with this number let go."""
    kept = orjson.loads(details).get("problems", ())
    return [f"{problem} (before entry {number} let it be deleted)" for problem in kept]


def has_digest(db: Connection, number: int, digest: str) -> bool:
    """Return whether the entry with this number has this digest (hexadecimal)."""
    found = db.value(f"SELECT {DIGEST} FROM audit WHERE id = :id", no_bytes=b"", id=number)
    return found is not None and bytes(found).hex() == digest.lower()


def last_before(db: Connection, before: int) -> int:
    """Return the number of the last entry before a time if it is time to prune, or else 0.

    That is so once a day at most, because the record of a pruning is an entry, too.
    """
    kept = "SELECT min(id) FROM audit WHERE id > :through"
    # A forged time that is not a number is never young. Otherwise it would end all pruning.
    young = "at BETWEEN :before AND :last"
    given = {"through": _through(db), "last": LATEST}
    oldest = f"SELECT 1 FROM audit WHERE id = ({kept}) AND NOT ({young})"
    if db.value(oldest, before=before - DAY, **given) is None:
        return 0
    first = db.value(f"{kept} AND {young}", before=before, **given)
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
    return db.number(f"SELECT {THROUGH}")


def drop(db: Connection, before: int, limit: int) -> int:
    """Delete entries that `record_pruning` released. Return how many (fewer than `limit`: all)."""
    return db.execute(
        "DELETE FROM audit WHERE id IN"
        " (SELECT id FROM audit WHERE id <= :through ORDER BY id LIMIT :limit)",
        through=_through(db),
        limit=limit,
    )
