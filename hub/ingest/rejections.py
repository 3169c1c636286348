"""The visible record of what was turned away at the door."""

import contextlib
from dataclasses import dataclass

from starlette.types import Scope

from hub.http.errors import Forbidden, Malformed, Rejected, TooLarge, TooSlow
from store import Store
from store.clock import SECOND
from store.delivery import rejections
from store.errors import Conflict, Missing, StoreError

# What is refused for the event's sake; what is put off (503) is not refused.
RECORDED_ERRORS = (Malformed, Rejected, TooLarge, TooSlow, Forbidden, Conflict, Missing)
MAX_TEXT = 500


@dataclass(slots=True)
class IngestAttempt:
    """Who stands at the door with what, as far as it is known yet."""

    scope: Scope
    sender: str | None = None
    event: str | None = None
    guid: str | None = None
    size: int | None = None


class Rejections:
    """Writes the record."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._last_unknown = 0

    async def note(self, door: IngestAttempt, error: Exception) -> None:
        """Record a refusal; of unknown senders one a second, lest they push out the others."""
        if door.sender is None:
            now = self._store.clock.now()
            if now - self._last_unknown < SECOND:
                return
            self._last_unknown = now
        client = door.scope.get("client")
        # The sender is answered for its mistake, whatever becomes of the record.
        with contextlib.suppress(StoreError):
            await self._store.write(
                rejections.add,
                path=_plain(door.scope["path"]),
                reason=_plain(str(error)),
                address=client[0] if client else None,
                sender=door.sender,
                event=door.event and _plain(door.event),
                guid=door.guid,
                size=door.size,
            )


def _plain(text: str) -> str:
    # Not every engine keeps a NUL in a text.
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")[:MAX_TEXT]
