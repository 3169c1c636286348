"""The key of an ordered delivery. Deliveries of one hook with the same key are sent in turn."""

from collections.abc import Callable
from typing import Any

import orjson

from store.hooks import json_pointer
from store.hooks.hook_ordering import BY_HOOK, BY_REPOSITORY, NONE

MOST_BYTES = 256
KEYLESS = ""
"""The key of payloads that have none. They are ordered together."""
# In place of NUL, which PostgreSQL does not accept in a text.
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class PayloadKeys:
    """The keys in the payloads of a batch of events. Each payload is parsed once.

    `body_of` returns the body of an event, or None if it is no longer kept.
    """

    def __init__(self, body_of: Callable[[int], bytes | None]) -> None:
        self._body_of = body_of
        self._parsed: dict[int, Any] = {}

    def key_of(self, ordering: str, event_id: int, repo_id: int, sequence: int) -> str:
        """Return the key of an event's delivery.

        `ordering` is as `hook_ordering` stores it. Without an ordering, the key is unique.
        """
        if ordering == NONE:
            return f"#{sequence}"
        if ordering == BY_HOOK:
            return KEYLESS
        if ordering == BY_REPOSITORY:
            return str(repo_id)
        return _as_key(json_pointer.resolve(self._payload(event_id), ordering))

    def _payload(self, event_id: int) -> Any:
        if event_id not in self._parsed:
            body = self._body_of(event_id)
            try:
                self._parsed[event_id] = None if body is None else orjson.loads(body)
            except orjson.JSONDecodeError:
                self._parsed[event_id] = None
        return self._parsed[event_id]


def _as_key(value: Any) -> str:
    """Return a scalar as text, cut to 256 bytes. Return KEYLESS for everything else."""
    if isinstance(value, str):
        text = value.replace("\0", REPLACEMENT).encode()[:MOST_BYTES]
        return text.decode(errors="ignore")
    if isinstance(value, bool | int | float):
        return orjson.dumps(value).decode()
    return KEYLESS
