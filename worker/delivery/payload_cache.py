"""The payloads of events in memory, each of which is read and built once."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import partial

from store import Connection, Row, Store, trace_context
from store.apps import event_installations
from store.delivery import event_fields, events, incoming
from store.delivery.websub import websub, websub_feeds
from store.delivery.websub.websub_topics import CONTENT_EVENT, JSON, Topic, content_type
from store.formats.installed import with_installation
from worker.delivery.batch_loader import BatchLoader
from worker.delivery.payload import Payload, form_encode

MAX_BYTES = 32 * 1024 * 1024
# Bytes that one read returns at most. If the events are large, it returns fewer of them.
MAX_READ_BYTES = 4 * 1024 * 1024
# The most bytes of a read on the event loop, and the most payloads that were read ahead of their
# use. More could push each other out of the memory.
MAX_INLINE_BYTES, MOST_AHEAD = 128 * 1024, 256


class PayloadCache:
    """The payloads in use, with all forms of them.

    If they take more than `max_bytes`, the least recently used ones are dropped.
    """

    def __init__(self, store: Store, max_bytes: int = MAX_BYTES) -> None:
        self._store = store
        self._max_bytes = max_bytes
        inline = partial(read_payloads, most=MAX_INLINE_BYTES)
        read = inline if store.engine.inline else read_payloads
        self._loader = BatchLoader(store, read, self._keep)
        self._ahead: OrderedDict[int | tuple[int, str], None] = OrderedDict()
        self._known: OrderedDict[int | tuple[int, str], Payload] = OrderedDict()
        self._bytes = 0
        self._encoding = asyncio.Lock()

    def __contains__(self, key: object) -> bool:
        return key in self._known

    def put(self, key: int | tuple[int, str], payload: Payload) -> Payload:
        """Add a payload. Return the one that is kept under this key, which may be older."""
        if key in self._known:
            return self._known[key]
        self._known[key] = payload
        payload.keeper = self
        self.grow(payload.memory)
        return payload

    def grow(self, size: int) -> None:
        """Count this many bytes more, and drop payloads if that is too much."""
        self._bytes += size
        while self._bytes > self._max_bytes and len(self._known) > 1:
            key, dropped = self._known.popitem(last=False)
            self._ahead.pop(key, None)
            dropped.keeper = None
            self._bytes -= dropped.memory

    async def get(
        self, event_id: int, ahead: Callable[[], Iterable[int]] = tuple
    ) -> Payload | None:
        """Return the event's payload. Return None if it is no longer stored.

        `ahead` returns the events that the caller needs next. They may be read with it.
        """
        payload = self._known.get(event_id)
        if payload is not None:
            self._known.move_to_end(event_id)
            self._ahead.pop(event_id, None)
            return payload
        found = await self._loader.get(event_id, self._unread(ahead))
        self._ahead.pop(event_id, None)
        return None if found is None else self.put(event_id, found)

    def _unread(self, ahead: Callable[[], Iterable[int]]) -> list[int]:
        if len(self._ahead) >= MOST_AHEAD:
            # Those of a failing hook may never be used, and must not count for ever.
            self._ahead.popitem(last=False)
            return []
        return [event_id for event_id in ahead() if event_id not in self._known]

    def _keep(self, found: dict[int, Payload | None]) -> None:
        for event_id, payload in found.items():
            if payload is not None:
                self._ahead[event_id] = None
                self.put(event_id, payload)

    async def add_repository(self, payload: Payload) -> None:
        """Look up the event's repository if the body has none, for `Payload.rendered`."""
        if payload.repository is not None:
            return
        if payload.repo_id and event_fields.lacks_repository(payload.body):
            find = event_fields.own_repository
            payload.repository = await self._store.read(find, payload.repo_id, payload.body)
        else:
            payload.repository = {}

    async def add_form(self, payload: Payload) -> None:
        """Encode a large payload as a form, for `Payload.body_as`, beside the event loop."""
        if not payload.lacks_large_form:
            return
        async with self._encoding:
            # Another delivery of the event may have had it encoded meanwhile.
            if payload.lacks_large_form:
                payload.keep_form(await asyncio.to_thread(form_encode, payload.body))

    async def feed(self, event_id: int, topic: Topic, hub: str) -> Payload:
        """Return a repository's feed as of this event."""
        key = event_id, f"{topic.self_url} {hub}"
        payload = self._known.get(key)
        if payload is not None:
            self._known.move_to_end(key)
            return payload
        body = await self._store.read(websub_feeds.feed, topic, hub, event_id)
        return self.put(key, Payload(topic.key, "", body, content_type(topic.key)))

    async def of_app(
        self, event_id: int, app_id: int, ahead: Callable[[], Iterable[int]] = tuple
    ) -> Payload | None:
        """Return the event's payload for an app's hook, which names the app's installation.

        Return None if it is no longer stored, or if no installation covers the event any more.
        """
        event = await self.get(event_id, ahead)
        if event is None:
            return None
        number = await self._store.read(event_installations.named_in, app_id, event_id)
        if not number:
            return None if number is None else event
        known = self._known.get((event_id, f"installation {number}"))
        if known is not None:
            return known
        body = with_installation(event.body, number)
        named = Payload(event.name, event.guid, body, accepted_at=event.accepted_at)
        named.republished, named.repo_id = event.republished, event.repo_id
        named.installation_id, named.trace = number, event.trace
        named.repository = event.repository
        return self.put((event_id, f"installation {number}"), named)


def read_payloads(
    db: Connection, event_ids: list[int], most: int = MAX_READ_BYTES
) -> dict[int, Payload | None]:
    """Return the payloads of the first of these events, up to `most` bytes altogether.

    At least one is returned. It is None if the event is no longer stored.
    """
    found = events.get_many(db, event_ids, most)
    return {event_id: _payload(db, event_id, row) for event_id, row in found.items()}


def _payload(db: Connection, event_id: int, row: Row | None) -> Payload | None:
    if row is None or row["body"] is None:
        return None
    payload = Payload(row["name"], row["guid"], row["body"], accepted_at=row["received_at"])
    payload.republished = row["source_id"] == incoming.REPUBLISHED_SOURCE
    payload.repo_id = row["repo_id"]
    payload.trace = trace_context.stored(row["traceparent"], row["tracestate"])
    if row["name"] == CONTENT_EVENT:
        payload.media = websub.media_type_of(db, event_id) or JSON
    return payload
