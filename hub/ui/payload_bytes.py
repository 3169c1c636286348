"""Reconstruction of a delivery's body from its event."""

from urllib.parse import quote_plus

from store import Row
from store.formats import batches
from store.formats.event_view import EventView
from store.formats.formats import FORMATS, HEADER, PLATFORM, render

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
# The formats whose body follows from the event alone. Envelopes of CloudEvents depend on the hook.
REBUILT = frozenset(FORMATS) - {PLATFORM, "cloudevents_structured"}


def header(attempt: Row, wanted: str) -> str:
    """Return a header of the request by its lower-case name; empty if there was none."""
    found = (value for name, value in attempt["request_headers"].items() if name.lower() == wanted)
    return str(next(found, ""))


def content_of(attempt: Row) -> bytes | None:
    """Return what the receiver read: the event's payload, or the message in another format.

    Return None if the payload is no longer kept.
    """
    body: bytes | None = attempt["event_body"]
    format_ = header(attempt, HEADER)
    if body is not None and format_ in REBUILT:
        return render(format_, _event(attempt, body)).body
    return body


def _event(attempt: Row, body: bytes) -> EventView:
    event = EventView(attempt["event"], attempt["guid"], body, attempt["received_at"])
    event.own_repository = attempt["event_repository"]
    return event


def body_of(attempt: Row) -> bytes | None:
    """Return the body that was sent, or None if it can no longer be known.

    The body of a batch depends on the other deliveries in it.
    """
    if header(attempt, batches.HEADER):
        return None
    body: bytes | None = attempt["event_body"]
    kind = header(attempt, "content-type")
    if header(attempt, HEADER) in REBUILT:
        return content_of(attempt)
    if body is None or kind.startswith(JSON):
        return body
    if kind.startswith(FORM):
        # Exactly as it was sent, because these bytes were signed.
        return b"payload=" + quote_plus(body, safe="*").replace("~", "%7E").encode()
    return None
