"""What is delivered: an event's body in the form a hook wants, built once for all of them."""

from collections import OrderedDict
from dataclasses import dataclass

from store import Connection, Row, Store
from store.delivery import events, websub, websub_feeds
from store.delivery.websub_topics import CONTENT_EVENT, JSON, Topic, content_type
from worker.delivery.batch_loader import BatchLoader

# Unreserved in application/x-www-form-urlencoded: everything else is escaped.
UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._*")
MAX_BYTES = 32 * 1024 * 1024
# Bytes that are read at once: of large events fewer.
MAX_READ_BYTES = 4 * 1024 * 1024


def form_encode(body: bytes) -> bytes:
    """`body` as the value of the form parameter `payload`.

    One replacement for each byte that occurs and needs it: a fifth of what urllib's quoting costs.
    """
    # The escapes themselves are made of %, digits and letters; + stands for a space in the end.
    text = body.replace(b"%", b"%25").replace(b"+", b"%2B")
    for byte in sorted(set(body) - UNRESERVED - set(b"%+ ")):
        text = text.replace(bytes((byte,)), b"%%%02X" % byte)
    return b"payload=" + text.replace(b" ", b"+")


@dataclass(slots=True)
class Payload:
    """An event's name, guid and body; `body` is the JSON text, or content of the type `media`."""

    name: str
    guid: str
    body: bytes
    media: str = JSON
    accepted_at: int | None = None
    """When the event came in, in microseconds."""
    republished: bool = False
    """Whether it tells how things are, and not that they have changed."""
    _form: bytes | None = None

    def body_as(self, content_type: str) -> bytes:
        """The exact bytes that a hook of this content type (`json` or `form`) is sent."""
        if content_type == "json":
            return self.body
        if self._form is None:
            self._form = form_encode(self.body)
        return self._form


class PayloadCache:
    """The events in use, the least recently used ones dropped beyond a size."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loader = BatchLoader(store, _read)
        self._known: OrderedDict[int | tuple[int, str], Payload] = OrderedDict()
        self._bytes = 0

    def put(self, key: int | tuple[int, str], content: Payload) -> Payload:
        """Keep an event that is at hand."""
        if key in self._known:
            return self._known[key]
        self._known[key] = content
        self._bytes += len(content.body)
        while self._bytes > MAX_BYTES and len(self._known) > 1:
            _, dropped = self._known.popitem(last=False)
            self._bytes -= len(dropped.body)
        return content

    async def get(self, event_id: int) -> Payload | None:
        """The event, or None where its body is no longer kept."""
        content = self._known.get(event_id)
        if content is not None:
            self._known.move_to_end(event_id)
            return content
        found = await self._loader.get(event_id)
        return None if found is None else self.put(event_id, found)

    async def feed(self, event_id: int, topic: Topic, hub: str) -> Payload:
        """A repository's feed as it was with an event."""
        key = event_id, f"{topic.self_url} {hub}"
        content = self._known.get(key)
        if content is not None:
            self._known.move_to_end(key)
            return content
        body = await self._store.read(websub_feeds.feed, topic, hub, event_id)
        return self.put(key, Payload(topic.key, "", body, content_type(topic.key)))


def _read(db: Connection, event_ids: list[int]) -> dict[int, Payload | None]:
    found = events.get_many(db, event_ids, MAX_READ_BYTES)
    return {event_id: _payload(db, event_id, row) for event_id, row in found.items()}


def _payload(db: Connection, event_id: int, row: Row | None) -> Payload | None:
    if row is None or row["body"] is None:
        return None
    content = Payload(row["name"], row["guid"], row["body"], accepted_at=row["received_at"])
    content.republished = row["source_id"] == events.REPUBLISHED_SOURCE
    if row["name"] == CONTENT_EVENT:
        content.media = websub.media_type_of(db, event_id) or JSON
    return content
