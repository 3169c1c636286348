"""The key of an ordered delivery. Deliveries of one hook with the same key are sent in turn."""

from collections.abc import Callable, Iterable
from typing import Any

import orjson

from store.apps.event_installations import EventInstallations
from store.formats.installed import named_payload
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

    def __init__(
        self, body_of: Callable[[int], bytes | None], installations: EventInstallations
    ) -> None:
        self._body_of = body_of
        self._installations = installations
        self._parsed: dict[int, Any] = {}

    def load(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Look up what keys of apps' hooks need, for pairs of an app and an event."""
        self._installations.load(pairs)

    def key_of(
        self, ordering: str, app_id: int | None, event_id: int, repo_id: int, sequence: int
    ) -> str:
        """Return the key of an event's delivery.

        `ordering` is as `hook_ordering` stores it, and `app_id` as `hook_ordering.apps` returns it.
        Without an ordering, the key is unique.
        """
        if ordering == NONE:
            return f"#{sequence}"
        if ordering == BY_HOOK:
            return KEYLESS
        if ordering == BY_REPOSITORY:
            return str(repo_id)
        payload = self._payload(event_id)
        number = 0 if app_id is None else self._installations.of(app_id, event_id)
        if number and payload is not None:
            payload = named_payload(payload, number)
        return _as_key(json_pointer.resolve(payload, ordering))

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
