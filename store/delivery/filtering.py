"""Filters in the fan-out: new deliveries that a hook's filter leaves out become filtered.

Such a delivery stays on record with the reason, and is never sent. Deliveries that a person
requests for one hook, such as a ping or a redelivery, are not filtered.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import orjson

from store.apps.event_installations import EventInstallations
from store.database import body_codec
from store.database.connection import Connection, Row, json_array
from store.errors import Invalid
from store.filters import payload_filter
from store.filters.conditions import FilterError
from store.filters.document import EventDocument, document_of
from store.filters.dry_run import DryRun, dry_run
from store.filters.payload_filter import PayloadFilter
from store.formats.installed import named_payload, with_installation
from store.hooks.event_names import WILDCARD
from store.ordering.delivery_states import FILTERED

FILTER = (
    "(SELECT CASE WHEN h.app_id IS NULL THEN h.filter"
    " ELSE CAST(h.app_id AS TEXT) || ' ' || h.filter END"
    " FROM hook h WHERE h.id = delivery.hook_id)"
)
"""The filter of a new delivery's hook, as SQL in RETURNING. Most hooks have none.

An app's hook has the app's id before it. So a hook without an app costs no second look-up.
"""

# The limits of hooks whose filters are examined at once, the newest first, and of hooks that are
# named.
MOST_EXAMINED, MOST_NAMED = 5_000, 5


# A check of a small value takes as long as a check of one with so many bytes.
LEAST_BYTES = 16


class Document(NamedTuple):
    """An event in the form that filters describe.

    `body` is its payload, to which a hook's own form adds `more` bytes.
    """

    content: EventDocument
    body: bytes
    more: int = 0

    @property
    def size(self) -> int:
        """Return the size of the payload in bytes. Each value counts as LEAST_BYTES at least."""
        # Each value but the first of an array or object follows a comma. Texts have commas too.
        values = self.body.count(b",") + self.body.count(b"[") + self.body.count(b"{")
        return max(self._length, LEAST_BYTES * values)

    @property
    def _length(self) -> int:
        return len(self.body) + self.more

    def is_too_large(self, filter_: PayloadFilter) -> bool:
        """Return whether the filter would take too long for this payload."""
        # Counting takes longer than the first question, which nearly every payload passes.
        largest = LEAST_BYTES * self._length
        return filter_.is_too_slow(largest) and filter_.is_too_slow(self.size)


def document(name: str, action: str | None, body: bytes) -> Document:
    """Return an event in the form that filters describe."""
    return Document(document_of(name, action, orjson.loads(body)), body)


def pasted(name: str, action: str | None, payload: dict[str, Any]) -> Document:
    """Return a payload without an event in the form that filters describe.

    Raises Invalid if it is not JSON.
    """
    try:
        body = orjson.dumps(payload)
    except orjson.JSONEncodeError as error:
        raise Invalid(f"the payload is not JSON: {error}", field="payload") from None
    return Document(document_of(name, action, payload), body)


def stored_for(db: Connection, hook: Row, event_id: int) -> Document | None:
    """Return a stored event in the form that filters describe, as a hook gets it.

    Return None without its payload.
    """
    return _Documents(partial(stored, db), EventInstallations(db)).of(hook["app_id"], event_id)


def stored(db: Connection, event_id: int) -> Document | None:
    """Return a stored event in the form that filters describe, before a hook gets it.

    Return None without its payload.
    """
    row = db.one("SELECT name, action, body FROM event WHERE id = :id", id=event_id)
    if row is None or row["body"] is None:
        return None
    return document(row["name"], row["action"], body_codec.decompress(row["body"]))


def apply(
    db: Connection,
    made: Sequence[tuple[Any, ...]],
    read: Callable[[int], Document | None],
    installations: EventInstallations,
) -> tuple[Sequence[tuple[Any, ...]], list[tuple[int, int]]]:
    """Mark the new deliveries that their hooks' filters leave out.

    The rows of `made` begin with the ids of a delivery, its event and its hook, and end with
    FILTER. `read` returns an event in the form that filters describe; it is called once an event,
    and only if a hook has a filter. Return the rows that are not left out, and the ids of event and
    hook for the others.
    """
    documents = _Documents(read, installations)
    reasons: dict[int, str] = {}
    judged = [row for row in made if row[-1] is not None]
    of_apps = {row[0]: _app_and_filter(row[-1]) for row in judged if row[-1][:1].isdigit()}
    if of_apps:
        installations.load((of_apps[row[0]][0], row[1]) for row in judged if row[0] in of_apps)
    for delivery_id, event_id, *_, text in judged:
        app_id, filter_ = of_apps.get(delivery_id) or (None, text)
        reason = _reason(filter_, documents.of(app_id, event_id))
        if reason is not None:
            reasons[delivery_id] = reason
    _mark(db, reasons)
    return (
        [row for row in made if row[0] not in reasons],
        [(row[1], row[2]) for row in made if row[0] in reasons],
    )


def _app_and_filter(text: str) -> tuple[int, str]:
    """Return the parts of FILTER for the hook of an app: the app's id and the filter."""
    app_id, _, filter_ = text.partition(" ")
    return int(app_id), filter_


class _Documents:
    """The events of a batch in the form that filters describe, as hooks get them.

    Each is read once. The hook of an app gets it with the app's installation.
    """

    def __init__(
        self, read: Callable[[int], Document | None], installations: EventInstallations
    ) -> None:
        self._read = read
        self._installations = installations
        self._known: dict[tuple[int, int], Document | None] = {}

    def of(self, app_id: int | None, event_id: int) -> Document | None:
        number = 0 if app_id is None else self._installations.of(app_id, event_id)
        key = event_id, number
        if key not in self._known:
            self._known[key] = self._made(event_id, number)
        return self._known[key]

    def _made(self, event_id: int, number: int) -> Document | None:
        if not number:
            return self._read(event_id)
        whole = self.of(None, event_id)
        return None if whole is None else _named(whole, number)


def _named(whole: Document, number: int) -> Document:
    """Return an event as a hook gets it whose payload names this installation."""
    payload = named_payload(whole.content["payload"], number)
    content = EventDocument({**whole.content, "payload": payload})
    return Document(content, whole.body, len(with_installation(b"{}", number)))


def _reason(text: str, found: Document | None) -> str | None:
    """Return why a filter leaves an event out. Return None if it does not."""
    filter_ = payload_filter.load(text)
    if filter_ is None or found is None or found.is_too_large(filter_):
        return None
    return filter_.reason(found.content)


def _mark(db: Connection, reasons: dict[int, str]) -> None:
    if not reasons:
        return
    db.execute(
        f"UPDATE delivery SET state = {FILTERED}, lease_id = NULL, reason = r.reason FROM"
        f" {db.each('rows', id='integer', reason='text')} AS r WHERE delivery.id = r.id",
        rows=json_array(sorted(reasons.items())),
    )


def filter_of(hook: Row, source: Any = None) -> PayloadFilter:
    """Return the filter with this source, or the hook's own, for a dry run. Raises Invalid."""
    chosen = hook["options"].get("filter") if source is None else source
    if chosen is None:
        raise Invalid("the hook has no filter", field="filter", resource="Hook")
    try:
        return PayloadFilter(chosen)
    except FilterError as error:
        raise Invalid(str(error), field="filter", resource="Hook") from None


def test(filter_: PayloadFilter, found: Document) -> DryRun:
    """Judge an event, and say why. Raises Invalid if the filter would take too long for it."""
    if found.is_too_large(filter_):
        raise Invalid(
            "the payload is so large that this filter does not apply: the event is delivered",
            field="filter",
            resource="Hook",
        )
    return dry_run(filter_, found.content)


def unusable(db: Connection) -> list[str]:
    """Return a sentence about each hook whose filter cannot be used, and so gets every event.

    After MOST_NAMED hooks, the last sentence counts the others.
    """
    # This takes long, because each filter is compiled.
    db.require_thread()
    rows = db.tuples(
        "SELECT id, filter FROM hook WHERE filter IS NOT NULL AND deleted_at IS NULL"
        " ORDER BY id DESC LIMIT :limit",
        limit=MOST_EXAMINED,
    )
    found = ((row[0], payload_filter.problem(row[1])) for row in rows)
    named = [
        f"hook {hook_id} gets every event, because its filter is unusable: {reason}"
        for hook_id, reason in found
        if reason is not None
    ]
    others = len(named) - MOST_NAMED
    rest = [f"more hooks with unusable filters: {others}"] if others > 0 else []
    return named[:MOST_NAMED] + rest


def usual_event(hook: Row) -> str:
    """Return the name of an event for a payload without one: the first that the hook wants.

    The hook of an app without events wants none.
    """
    first: str = next(iter(hook["events"]), WILDCARD)
    return "push" if first == WILDCARD else first
