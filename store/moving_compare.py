"""Comparing what was copied: each row is read once more on both sides."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from store.errors import Conflict
from store.moving_source import Source
from store.moving_tables import MASK, Table, Values, checksum, differing

if TYPE_CHECKING:
    from store.moving_target import Target  # with it comes the driver, which may not be there

# How many of many are named in a message.
NAMED = 5

Tell = Callable[[str, str, int, int], None]
"""Hears of progress: `copying` or `comparing`, the table, rows done, and rows there are to do."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A table that is alike on both sides; no `checksum` where rows were counted only."""

    table: str
    rows: int
    checksum: str | None


def compare(source: Source, target: "Target", table: Table, tell: Tell) -> Compared:
    """Compare what was copied of a table. Conflict where a row differs that nobody changed since;
    it is noted, to be copied again.
    """
    reached = target.reached(table)
    total = 0 if reached is None else source.count(table, None, reached)
    after: Any = None
    done = summed = 0
    for rows in source.after(table, None, reached) if total else ():
        theirs = target.between(table, after, rows[-1][0])
        summed += _alike(source, table, rows, theirs)
        after, done = rows[-1][0], done + len(rows)
        tell("comparing", table.name, done, max(done, total))
    _alike(source, table, [], target.between(table, after, None))
    return Compared(table.name, done, f"{summed & MASK:032x}")


def _alike(source: Source, table: Table, ours: list[Values], theirs: list[Values]) -> int:
    """The rows' checksum, once it is the same on both sides but for what has changed since."""
    summed = checksum(ours)
    if summed != checksum(theirs):
        wrong = differing(table, ours, theirs)
        # Asked after the rows were read: what they show was noted before.
        wrong -= source.log.noted(table, list(wrong))
        if wrong:
            source.note(table, list(wrong))
            raise Conflict(_complaint(table, sorted(wrong)))
    return summed


def _complaint(table: Table, wrong: list[Any]) -> str:
    named = ", ".join(str(first) for first in wrong[:NAMED])
    return (
        f"in {table.name} the target has other rows than the database, or lacks them"
        f" ({table.columns[0]} {named}{', ...' if len(wrong) > NAMED else ''}):"
        " does anything else write there? Run again, and they are copied anew"
    )
