"""The payloads that receivers have fetched last: the hooks of an event fetch it one by one."""

from collections import OrderedDict
from collections.abc import Sequence

from store import Connection
from worker.delivery.payload import Payload
from worker.delivery.payload_cache import read_payloads

MAX_BYTES = 16 * 1024 * 1024


class RecentPayloads:
    """Payloads in memory. Beyond `max_bytes`, the least recently used ones are dropped."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._known: OrderedDict[int, Payload] = OrderedDict()
        self._bytes = 0

    def get(self, db: Connection, event_ids: Sequence[int]) -> dict[int, Payload | None]:
        """Return the payloads of these events, as `read_payloads` does."""
        found: dict[int, Payload | None] = {}
        for event_id in event_ids:
            if event_id in self._known:
                self._known.move_to_end(event_id)
                found[event_id] = self._known[event_id]
        missing = [event_id for event_id in event_ids if event_id not in found]
        if missing:
            read = read_payloads(db, missing)
            for event_id, payload in read.items():
                if payload is not None:
                    self._put(event_id, payload)
            found |= read
        return found

    def _put(self, event_id: int, payload: Payload) -> None:
        self._known[event_id] = payload
        payload.keeper = self
        self.grow(payload.memory)

    def grow(self, size: int) -> None:
        """Count this many bytes more, and drop payloads if that is too much."""
        self._bytes += size
        while self._bytes > self._max_bytes and self._known:
            _, dropped = self._known.popitem(last=False)
            dropped.keeper = None
            self._bytes -= dropped.memory
