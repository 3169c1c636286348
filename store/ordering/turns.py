"""Turns: of each key of an ordered hook, one delivery at a time may be claimed.

An ordered delivery is BEHIND until its turn, which comes when the delivery before it has ended.
Then it waits like any other. So the code that claims deliveries does not depend on the order, and
neither a crash nor a lost lease can change the order.

The turn of a key belongs to its first delivery that has not ended, or to a redelivery out of turn,
whichever is due first. A delivery that a worker holds keeps its turn. So does a delivery whose
worker lost its lease and may still be sending it. A batch may take followers along: see
`store.ordering.followers`.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from store.database.connection import Connection, Row, json_array
from store.hooks.hook_ordering import NONE
from store.ordering.delivery_states import BEHIND, WAITING

OPEN = f"state IN ({WAITING}, {BEHIND})"
"""The SQL condition of deliveries that have not ended. An index has exactly this condition."""
FREE = "d.lease_id IS NULL AND (d.in_flight_until IS NULL OR d.in_flight_until <= :now)"
"""The condition on a delivery `d` that no request of it is in flight, as SQL."""
OF_KEY = f"x.hook_id = w.hook_id AND x.ordering_key = w.key AND x.{OPEN}"
FIRST = (
    f"SELECT x.id FROM delivery x WHERE {OF_KEY} AND x.out_of_turn = 0 ORDER BY x.sequence LIMIT 1"
)
# The first two redeliveries of a key: at most one has the turn, and one more can follow.
REDELIVERIES = (
    f"SELECT x.id FROM delivery x WHERE {OF_KEY} AND x.out_of_turn = 1"
    " ORDER BY x.state, x.due_at, x.id LIMIT 2"
)

Key = tuple[int, str]
"""A hook's id, and one of its keys."""


@dataclass(slots=True)
class _Candidate:
    """A delivery that has the turn of its key, or may get it."""

    id: int
    has_turn: bool
    held: bool
    may_start: bool
    due_at: int
    out_of_turn: int

    def rank(self) -> tuple[int, int, int]:
        return self.due_at, -self.out_of_turn, self.id


def settle(db: Connection, keys: Collection[Key], orderings: Mapping[int, Row]) -> None:
    """Give the turn of each of these keys to the delivery that should have it.

    `orderings` are the rows of the keys' hooks, locked (`hook_ordering.lock`). If a hook has none,
    because it was deleted, its deliveries still get their turns.
    """
    chosen: dict[int, Key] = {}
    demoted: dict[int, Key] = {}
    for key, candidates in _candidates(db, keys, orderings).items():
        held = [one for one in candidates if one.held]
        if any(one.has_turn for one in held):
            continue
        # If a follower is held, the first delivery has ended before it, and the follower gets the
        # turn.
        able = [one for one in held or candidates if one.may_start]
        first = min(able, key=_Candidate.rank) if able else None
        demoted |= {one.id: key for one in candidates if one.has_turn and one is not first}
        if first is not None and not first.has_turn:
            chosen[first.id] = key
    if demoted:
        kept = demoted.keys() - _demote(db, demoted)
        # A worker has claimed the deliveries in `kept` meanwhile, so they keep their turns.
        taken = {demoted[delivery_id] for delivery_id in kept}
        chosen = {delivery_id: key for delivery_id, key in chosen.items() if key not in taken}
    if chosen:
        _promote(db, chosen)


def _candidates(
    db: Connection, keys: Collection[Key], orderings: Mapping[int, Row]
) -> dict[Key, list[_Candidate]]:
    limits = {hook_id: row["barriers"][0] for hook_id, row in orderings.items() if row["barriers"]}
    either = f"SELECT f.id FROM ({FIRST}) AS f UNION ALL SELECT r.id FROM ({REDELIVERIES}) AS r"
    found: dict[Key, list[_Candidate]] = {}
    for hook_id, key, id_, state, held, due_at, out_of_turn, sequence, blocked_at in db.tuples(
        f"SELECT w.hook_id, w.key, d.id, d.state, CASE WHEN {FREE} THEN 0 ELSE 1 END, d.due_at,"
        f" d.out_of_turn, d.sequence, k.blocked_at"
        f" FROM {db.each('keys', hook_id='integer', key='text')} AS w"
        f" {db.lateral('delivery', 'c', either)} JOIN delivery d ON d.id = c.id"
        " LEFT JOIN ordering_key k ON k.hook_id = w.hook_id AND k.key = w.key",
        keys=json_array(keys),
    ):
        in_time = hook_id not in limits or sequence is None or sequence <= limits[hook_id]
        found.setdefault((hook_id, key), []).append(
            _Candidate(
                id_,
                state == WAITING,
                bool(held),
                bool(out_of_turn) or (blocked_at is None and in_time),
                due_at,
                out_of_turn,
            )
        )
    return found


def _demote(db: Connection, ids: Iterable[int]) -> set[int]:
    """Make these deliveries BEHIND unless a worker holds them. Return the ones that now are."""
    rows = db.column(
        f"UPDATE delivery AS d SET state = {BEHIND} WHERE d.id {db.among('ids')}"
        f" AND d.state = {WAITING} AND {FREE} RETURNING id",
        ids=json_array(sorted(ids)),
    )
    return set(rows)


def _promote(db: Connection, chosen: Mapping[int, Key]) -> None:
    db.execute(
        f"UPDATE delivery SET state = {WAITING} WHERE id {db.among('ids')} AND state = {BEHIND}",
        ids=json_array(sorted(chosen)),
    )
    hook_ids = {hook_id for hook_id, _ in chosen.values()}
    notifier = db.notifier
    db.after_commit(lambda: notifier.due(hook_ids))


def lift_barriers(db: Connection, ordering: Row) -> None:
    """End the barriers of a hook whose earlier deliveries have all ended. Start what waited.

    `ordering` is the hook's locked row, which is changed too.
    """
    hook_id, barriers = ordering["hook_id"], ordering["barriers"]
    before = len(barriers)
    while barriers and not _any_open(db, hook_id, barriers[0]):
        barriers.pop(0)
    if len(barriers) == before:
        return
    ordering["active"] = int(ordering["ordering"] != NONE or bool(barriers))
    db.execute(
        "UPDATE hook_ordering SET barriers = :barriers, active = :active,"
        " stopped = stopped * :active WHERE hook_id = :id",
        barriers=json.dumps(barriers),
        active=ordering["active"],
        id=hook_id,
    )
    settle(db, open_keys(db, hook_id), {hook_id: ordering})


def _any_open(db: Connection, hook_id: int, sequence: int) -> bool:
    return db.exists(
        "SELECT 1 FROM delivery x WHERE x.hook_id = :hook_id AND x.ordering_key IS NOT NULL"
        f" AND x.{OPEN} AND x.out_of_turn = 0 AND x.sequence <= :sequence LIMIT 1",
        hook_id=hook_id,
        sequence=sequence,
    )


def open_keys(db: Connection, hook_id: int) -> list[Key]:
    """Return the keys of a hook that have deliveries that have not ended."""
    rows = db.tuples(
        "SELECT DISTINCT x.ordering_key FROM delivery x WHERE x.hook_id = :hook_id"
        f" AND x.ordering_key IS NOT NULL AND x.{OPEN}",
        hook_id=hook_id,
    )
    return [(hook_id, row[0]) for row in rows]
