"""The record of rejected events, which administrators can see."""

import contextlib
from dataclasses import dataclass

from starlette.types import Scope

from hub.http.errors import Forbidden, Malformed, Rejected, TooLarge, TooSlow, Unsupported
from hub.rest.context import Services
from store.clock import SECOND
from store.delivery import rejections
from store.errors import Conflict, Missing, StoreError

# Errors of the event itself. A 503 is no rejection, as the sender retries.
RECORDED_ERRORS = (
    Malformed,
    Rejected,
    TooLarge,
    TooSlow,
    Unsupported,
    Forbidden,
    Conflict,
    Missing,
)
MAX_TEXT = 500


@dataclass(slots=True)
class IngestAttempt:
    """An incoming event, with what is known of it so far."""

    scope: Scope
    sender: str | None = None
    event: str | None = None
    guid: str | None = None
    size: int | None = None


class Rejections:
    """Writes the record of rejected events."""

    def __init__(self, services: Services) -> None:
        self._store = services.store
        self._clients = services.clients
        self._last_unknown = 0

    async def record(self, attempt: IngestAttempt, error: Exception) -> None:
        """Record a rejection.

        Unknown senders get one record a second, so that they cannot displace others.
        """
        if attempt.sender is None:
            now = self._store.clock.now()
            # A fast clock may have set it to a time that lies ahead.
            if 0 <= now - self._last_unknown < SECOND:
                return
            self._last_unknown = now
        # The sender gets the response, even if the record cannot be written.
        with contextlib.suppress(StoreError):
            await self._store.write(
                rejections.add,
                path=_plain(attempt.scope["path"]),
                reason=_plain(str(error)),
                address=self._clients.origin(attempt.scope),
                sender=attempt.sender,
                event=attempt.event and _plain(attempt.event),
                guid=attempt.guid,
                size=attempt.size,
            )


def _plain(text: str) -> str:
    # Some database engines reject a text with a NUL.
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")[:MAX_TEXT]
