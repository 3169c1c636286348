"""The server's own errors, and their responses in the form of the API's errors."""

from collections.abc import Iterable

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from hub.http.error_headings import place_of
from hub.http.errors import (
    CLOSE,
    HubError,
    LongHead,
    LongURL,
    Malformed,
    TooSlow,
    error_response,
)
from hub.http.response import Header
from store.errors import Busy

FULL = Busy("There are too many connections. Please try again in a moment.")


def no_http(error: Exception) -> HubError:
    """Return the error for data that the parser rejects with `error`."""
    return Malformed(f"This is not an HTTP request: {error}.")


def slow_head(seconds: float) -> HubError:
    """Return the error for a head that was not complete within this time."""
    return TooSlow(f"The headers were not complete within {seconds:g} seconds.")


def beyond(most: int, url: bytes, *, in_body: bool) -> HubError:
    """Return the error for more than `most` bytes in which the parser recognizes nothing."""
    if in_body:
        return Malformed(f"The body has more than {most} bytes of framing.")
    if len(url) > most // 2:
        return LongURL(f"The URL is too long: the limit for the request's head is {most} bytes.")
    return LongHead(f"The headers are larger than the limit of {most} bytes.")


def response(error: Exception, documentation: str, headers: Iterable[Header]) -> bytes:
    """Return a complete error response as bytes.

    `documentation` is the URL of the manual. `headers` are the headers of every response of the
    server.
    """
    answer = error_response(error, documentation + place_of(error), "")
    length = (b"content-length", str(len(answer.body)).encode())
    lines = dict.fromkeys([*headers, *answer.headers, length, CLOSE])
    head = b"".join(b"%s: %s\r\n" % line for line in lines)
    return STATUS_LINE[answer.status] + head + b"\r\n" + answer.body
