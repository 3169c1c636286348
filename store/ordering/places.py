"""Places in the order: new deliveries get them, and deliveries that end pass on their turn."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from store.apps.event_installations import EventInstallations
from store.database.connection import Connection, Row, json_array
from store.database.notifications import Turn
from store.hooks import hook_ordering
from store.ordering import stalled_keys, turns
from store.ordering.delivery_states import BEHIND, WAITING
from store.ordering.payload_keys import KEYLESS, PayloadKeys
from store.ordering.stalled_keys import EndedDelivery
from store.ordering.turns import OF_KEY, Key


@dataclass(slots=True)
class NewDelivery:
    """A delivery that was inserted BEHIND, and has no place in the order yet."""

    id: int
    event_id: int
    hook_id: int
    repo_id: int
    lease_id: int | None = None


def place(
    db: Connection,
    fresh: Iterable[NewDelivery],
    body_of: Callable[[int], bytes | None],
    installations: EventInstallations,
) -> dict[int, Turn]:
    """Give new deliveries their places, by event. Return the turns that come at once, by delivery.

    A delivery whose turn comes at once keeps its lease, and the others lose theirs. `body_of`
    returns an event's body, or None if it is no longer kept.
    """
    placed = sorted(fresh, key=lambda one: (one.event_id, one.id))
    orderings = hook_ordering.lock(db, {one.hook_id for one in placed})
    for ordering in orderings.values():
        if ordering["barriers"]:
            turns.lift_barriers(db, ordering)
    numbered = _number(db, placed, orderings, PayloadKeys(body_of, installations))
    keys = {(one.hook_id, turn.key) for one, turn in numbered}
    known, gaps = _open_keys(db, keys), stalled_keys.gaps(db, keys)
    taken = known | (stalled_keys.blocked(db, gaps) if gaps else set())
    now: dict[int, Turn] = {}
    rows: list[tuple[int, str | None, int | None, int, int | None]] = []
    for one, turn in numbered:
        key = one.hook_id, turn.key
        state, lease_id = BEHIND, None
        if key not in taken and not orderings[one.hook_id]["barriers"]:
            state, lease_id = WAITING, one.lease_id
            now[one.id] = Turn(turn.key, turn.sequence, gap=gaps.get(key, ()))
        taken.add(key)
        rows.append((one.id, turn.key, turn.sequence, state, lease_id))
    # A hook that was deleted meanwhile has no order. The worker finds that out.
    rows += [(one.id, None, None, WAITING, None) for one in placed if one.hook_id not in orderings]
    _write(db, rows)
    if known:
        turns.settle(db, known, orderings)
    return now


def _number(
    db: Connection, placed: Sequence[NewDelivery], orderings: dict[int, Row], keys: PayloadKeys
) -> list[tuple[NewDelivery, Turn]]:
    """Return the deliveries with their keys and sequence numbers. Move the hooks' counters on."""
    numbered = []
    apps = hook_ordering.apps(db, orderings)
    if apps:
        keys.load((apps[one.hook_id], one.event_id) for one in placed if one.hook_id in apps)
    keyless = dict.fromkeys(orderings, 0)
    for one in placed:
        ordering = orderings.get(one.hook_id)
        if ordering is None:
            continue
        ordering["sequence"] += 1
        name, sequence = ordering["ordering"], ordering["sequence"]
        key = keys.key_of(name, apps.get(one.hook_id), one.event_id, one.repo_id, sequence)
        keyless[one.hook_id] += key == KEYLESS and name.startswith("/")
        numbered.append((one, Turn(key, sequence)))
    db.execute(
        "UPDATE hook_ordering SET sequence = r.sequence,"
        " keyless = hook_ordering.keyless + r.keyless FROM"
        f" {db.each('rows', id='integer', sequence='integer', keyless='integer')} AS r"
        " WHERE hook_ordering.hook_id = r.id",
        rows=json_array(
            (hook_id, row["sequence"], keyless[hook_id]) for hook_id, row in orderings.items()
        ),
    )
    return numbered


def _open_keys(db: Connection, keys: Iterable[Key]) -> set[Key]:
    """Return which of these keys have deliveries that have not ended."""
    rows = db.tuples(
        f"SELECT w.hook_id, w.key FROM {db.each('keys', hook_id='integer', key='text')} AS w"
        f" WHERE EXISTS (SELECT 1 FROM delivery x WHERE {OF_KEY})",
        keys=json_array(keys),
    )
    return {(hook_id, key) for hook_id, key in rows}


def _write(db: Connection, rows: Sequence[tuple[object, ...]]) -> None:
    columns = {
        "id": "integer",
        "key": "text",
        "sequence": "integer",
        "state": "integer",
        "lease_id": "integer",
    }
    db.execute(
        "UPDATE delivery SET ordering_key = r.key, sequence = r.sequence, state = r.state,"
        f" lease_id = r.lease_id FROM {db.each('rows', **columns)} AS r WHERE delivery.id = r.id",
        rows=json_array(rows),
    )


def advance(
    db: Connection,
    orderings: dict[int, Row],
    keys: Iterable[Key],
    ended: Iterable[EndedDelivery],
    *,
    may_block: bool = True,
) -> None:
    """Pass on the turns of these keys after attempts, or after deliveries of theirs ended.

    `orderings` are the rows of their hooks, locked. If `may_block`, a death blocks its key where
    the hook's options say so.
    """
    blocking = {hook_id for hook_id, row in orderings.items() if row["blocks"] and may_block}
    # If a hook was deleted, the rows of its stalled keys were deleted with it.
    stalled_keys.apply(db, [one for one in ended if one.hook_id in orderings], blocking)
    pass_on(db, orderings, set(keys))


def pass_on(db: Connection, orderings: dict[int, Row], keys: Collection[Key]) -> None:
    """Pass on the turns of these keys. If old keys have drained, apply the changed ordering."""
    turns.settle(db, keys, orderings)
    for ordering in orderings.values():
        if ordering["barriers"]:
            turns.lift_barriers(db, ordering)


def turns_of(db: Connection, delivery_ids: Iterable[int]) -> dict[int, Turn]:
    """Return the turns of these deliveries, without those that are not ordered."""
    rows = db.tuples(
        "SELECT d.id, d.ordering_key, d.sequence, d.out_of_turn, d.hook_id,"
        " (SELECT min(a.started_at) FROM attempt a WHERE a.delivery_id = d.id)"
        f" FROM {db.each('ids', id='integer')} AS w JOIN delivery d ON d.id = w.id"
        " WHERE d.ordering_key IS NOT NULL",
        ids=json_array(delivery_ids),
    )
    gaps = stalled_keys.gaps(db, {(row[4], row[1]) for row in rows if not row[3]})
    return {
        id_: Turn(key, sequence, bool(out), () if out else gaps.get((hook_id, key), ()), since)
        for id_, key, sequence, out, hook_id, since in rows
    }
