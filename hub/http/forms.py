"""Parsing of urlencoded and multipart forms, with limits; only text fields are kept."""

from email.message import Message
from urllib.parse import parse_qsl

from starlette.types import Scope

from hub.http.errors import Malformed

MAX_FIELDS = 64
BROKEN = "Problems parsing the form"
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
        raise Malformed(BROKEN) from None
    return dict(pairs)


def read_form(scope: Scope, body: bytes) -> dict[str, str]:
    """Parse a form of either kind. A body of another Content-Type has no fields.

    Raises Malformed if the form cannot be parsed.
    """
    content_type = dict(scope["headers"]).get(b"content-type", b"")
    kind = kind_of(content_type)
    if kind == URLENCODED:
        return read_urlencoded(body)
    return _read_multipart(content_type, body) if kind == MULTIPART else {}


def _read_multipart(content_type: bytes, body: bytes) -> dict[str, str]:
    """Parse a form of RFC 7578: between two delimiters, each part has headers and a value."""
    boundary = _parameter(content_type, "boundary").encode("latin-1")
    _, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary, MAX_FIELDS + 1)
    if not boundary or not parts or not parts.pop().startswith(b"--"):
        raise Malformed(BROKEN)
    return dict(map(_field, parts))


def _field(part: bytes) -> tuple[str, str]:
    head, _, content = part.partition(b"\r\n\r\n")
    padding, *headers = head.split(b"\r\n")
    found = [line.partition(b":") for line in headers]
    named = {name.strip().lower(): value for name, _, value in found}
    disposition = named.get(b"content-disposition", b"")
    name = _parameter(disposition, "name")
    if padding.strip() or not name or _parameter(disposition, "filename"):
        raise Malformed(BROKEN)
    try:
        return name, content.decode()
    except UnicodeDecodeError:
        raise Malformed(BROKEN) from None


def _parameter(value: bytes, name: str) -> str:
    """Return a parameter of a header's value, without its quotes. Empty if there is none."""
    header = Message()
    header["content-type"] = value.decode("latin-1")
    found = header.get_param(name)
    return (
        found.encode("latin-1", "replace").decode("utf-8", "replace")
        if isinstance(found, str)
        else ""
    )
