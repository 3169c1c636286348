"""The slices of portions: for each bit of a signature, the attempts that have it.

A slice is a number with one bit for each attempt of the portion. Both engines store the same rows.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import neg

from store.database import body_codec
from store.database.connection import Connection, json_array
from store.text_index.portions import WIDTH, IndexPortion
from store.text_index.trigrams import BITS

# Slices in a row, which are compressed together.
SLICES = 32
SLICE_BYTES = WIDTH // 8
EVERY = (1 << WIDTH) - 1
# In portions with fewer attempts to examine, it costs less to read their texts.
WORTHWHILE = 8

Parts = list[tuple[int, bytes]]
"""Rows of a portion: the number and the compressed slices."""


class Slices:
    """The slices of a portion while it is read."""

    def __init__(self) -> None:
        self._slices = [0] * BITS

    def add(self, attempt_ids: Iterable[int], bits: Iterable[int]) -> None:
        places = sum(1 << number % WIDTH for number in set(attempt_ids))
        for bit in bits:
            self._slices[bit] |= places

    def packed(self) -> Parts:
        """Return the rows to store."""
        return [
            (
                at // SLICES,
                body_codec.compress(b"".join(map(_bytes, self._slices[at : at + SLICES]))),
            )
            for at in range(0, BITS, SLICES)
            if any(self._slices[at : at + SLICES])
        ]


def _bytes(number: int) -> bytes:
    return number.to_bytes(SLICE_BYTES, "big")


def save(db: Connection, portion: IndexPortion, parts: Parts) -> bool:
    """Store the rows of a portion.

    Return False if it is gone, or if something of it was deleted after it was read.
    """
    current = db.execute(
        "UPDATE text_portion SET indexed_at = :now, due_at = NULL"
        " WHERE portion = :portion AND removals = :removals",
        portion=portion.number,
        removals=portion.removals,
    )
    if not current:
        return False
    db.delete("text_slice", portion=portion.number)
    rows = [(portion.number, number, slices) for number, slices in parts]
    db.insert_many("text_slice", "portion, part, slices", rows)
    return True


def possible(db: Connection, ids: Sequence[int], wanted: Sequence[frozenset[int]]) -> list[int]:
    """Return the attempts among these that may have all bits of one of these sets.

    The attempts are in descending order.
    """
    groups = list(_groups(ids))
    crowded = [portion for portion, group in groups if len(group) >= WORTHWHILE]
    hits = _hits(db, crowded, wanted) if crowded else {}
    found: list[int] = []
    for portion, group in groups:
        hit = hits.get(portion, EVERY)
        if hit:
            found += [number for number in group if hit >> number % WIDTH & 1]
    return found


def _groups(ids: Sequence[int]) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield each portion with its attempts among these."""
    start = 0
    while start < len(ids):
        portion = ids[start] // WIDTH
        end = bisect_right(ids, -portion * WIDTH, lo=start, key=neg)
        yield portion, ids[start:end]
        start = end


def _hits(
    db: Connection, portions: Sequence[int], wanted: Sequence[frozenset[int]]
) -> dict[int, int]:
    """Return for each indexed portion a number with the possible attempts' bits."""
    rows = db.tuples(
        # In one statement, because another transaction may index a portion again.
        f"SELECT p.portion, q.part, s.slices FROM {db.each('portions', portion='integer')} AS w"
        " JOIN text_portion p ON p.portion = w.portion AND p.indexed_at IS NOT NULL"
        f" CROSS JOIN {db.each('parts', part='integer')} AS q"
        " LEFT JOIN text_slice s ON s.portion = p.portion AND s.part = q.part",
        portions=json_array(portions),
        parts=json_array({bit // SLICES for bits in wanted for bit in bits}),
    )
    parts: dict[int, dict[int, bytes]] = {}
    for portion, part, slices in rows:
        unpacked = b"" if slices is None else body_codec.decompress(slices)
        parts.setdefault(portion, {})[part] = unpacked
    return {portion: _hit(slices, wanted) for portion, slices in parts.items()}


def _hit(slices: Mapping[int, bytes], wanted: Sequence[frozenset[int]]) -> int:
    found = 0
    for bits in wanted:
        common = EVERY
        for bit in bits:
            part, at = divmod(bit, SLICES)
            row = slices[part]
            common &= int.from_bytes(row[at * SLICE_BYTES : (at + 1) * SLICE_BYTES], "big")
        found |= common
    return found
