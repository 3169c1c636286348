"""The bytes of a delivery once more, from its event."""

from urllib.parse import quote_plus

from store import Row

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


def header(attempt: Row, wanted: str) -> str:
    """A header that was sent; empty where there was none of this name (lower case)."""
    found = (value for name, value in attempt["request_headers"].items() if name.lower() == wanted)
    return str(next(found, ""))


def body_of(attempt: Row) -> bytes | None:
    """What was sent, None where that cannot be told any more."""
    body: bytes | None = attempt["event_body"]
    kind = header(attempt, "content-type")
    if body is None or kind.startswith(JSON):
        return body
    if kind.startswith(FORM):
        # As it was sent, to the byte: that is what was signed.
        return b"payload=" + quote_plus(body, safe="*").replace("~", "%7E").encode()
    return None
