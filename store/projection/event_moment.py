"""The moment of the state that an event reports.

It decides whether a change by an operation is later than the event.
"""

from typing import Any

from store.clock import SECOND
from store.database import payload_reader


def as_of(payload: dict[str, Any], received_at: int) -> int:
    """Return the latest time at which the payload can have been true, in microseconds.

    It is the last update of any object in the payload. The hub received the event after it.
    Platforms report whole seconds, so the update can be as late as the end of its second.
    """
    parts = [part for part in payload.values() if isinstance(part, dict)]
    times = (payload_reader.read_field(p, "updated_at", payload_reader.timestamp) for p in parts)
    latest = max((time for time in times if time is not None), default=received_at)
    end = SECOND - 1 if latest % SECOND == 0 else 0
    return min(latest + end, received_at)
