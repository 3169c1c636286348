"""The server's own error responses, in the form of the API's errors."""

from collections.abc import Iterable

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from hub.http.error_headings import place_of
from hub.http.errors import CLOSE, error_response
from hub.http.response import Header


def refusal(error: Exception, documentation: str, headers: Iterable[Header]) -> bytes:
    """Return a complete error response as bytes.

    `documentation` is the URL of the manual. `headers` are the headers of every response of the
    server.
    """
    answer = error_response(error, documentation + place_of(error), "")
    length = (b"content-length", str(len(answer.body)).encode())
    lines = dict.fromkeys([*headers, *answer.headers, length, CLOSE])
    head = b"".join(b"%s: %s\r\n" % line for line in lines)
    return STATUS_LINE[answer.status] + head + b"\r\n" + answer.body
