"""Parsing of urlencoded and multipart forms, with limits; only text fields are kept."""

from urllib.parse import parse_qsl

from python_multipart.exceptions import FormParserError
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.types import Message, Scope

from hub.http.errors import Malformed

MAX_FIELDS = 64
URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"


def kind_of(content_type: bytes) -> str:
    """Return a Content-Type without its parameters, in lower case."""
    return content_type.decode("latin-1").partition(";")[0].strip().lower()


def read_urlencoded(body: bytes) -> dict[str, str]:
    """Parse an urlencoded form. If a field is repeated, the last value counts.

    Raises Malformed for anything else.
    """
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise Malformed("Problems parsing the form") from None
    return dict(pairs)


async def read_form(scope: Scope, body: bytes) -> dict[str, str]:
    """Parse a form of either kind. A body of another Content-Type has no fields.

    Raises Malformed if the form cannot be parsed.
    """
    kind = kind_of(dict(scope["headers"]).get(b"content-type", b""))
    if kind == URLENCODED:
        return read_urlencoded(body)
    return await _read_multipart(scope, body) if kind == MULTIPART else {}


async def _read_multipart(scope: Scope, body: bytes) -> dict[str, str]:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    # Without "app" the parser's own error is raised instead of Starlette's error response.
    request = Request({key: value for key, value in scope.items() if key != "app"}, receive)
    try:
        async with request.form(max_files=0, max_fields=MAX_FIELDS) as form:
            return {name: value for name, value in form.items() if isinstance(value, str)}
    except (MultiPartException, FormParserError, ValueError, LookupError, KeyError):
        raise Malformed("Problems parsing the form") from None
