"""Reconstruction of a delivery's body from its event."""

from urllib.parse import quote_plus

from store import Row

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


def header(attempt: Row, wanted: str) -> str:
    """Return a header of the request by its lower-case name; empty if there was none."""
    found = (value for name, value in attempt["request_headers"].items() if name.lower() == wanted)
    return str(next(found, ""))


def body_of(attempt: Row) -> bytes | None:
    """Return the body that was sent, or None if it can no longer be known."""
    body: bytes | None = attempt["event_body"]
    kind = header(attempt, "content-type")
    if body is None or kind.startswith(JSON):
        return body
    if kind.startswith(FORM):
        # Exactly as it was sent, because these bytes were signed.
        return b"payload=" + quote_plus(body, safe="*").replace("~", "%7E").encode()
    return None
