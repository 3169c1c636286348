"""Parsing of urlencoded and multipart forms, with limits; only text fields are kept."""

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl

from starlette.types import Scope

from hub.http.errors import Malformed

MAX_FIELDS = 64
BROKEN = "Problems parsing the form"
NUL = "A form must not hold a NUL"
URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
# A parameter of a header's value. The quantifiers are possessive, so that the search is linear.
PARAMETER = re.compile(rb';\s*+([^\s;="]++)\s*+=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^;]*+))', re.DOTALL)
ESCAPED = re.compile(rb"\\(.)", re.DOTALL)


class Form(dict[str, str]):
    """The fields of a form. If a field is repeated, its last value counts."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self.pairs = list(pairs)
        super().__init__(self.pairs)

    def all(self, name: str) -> list[str]:
        """Return every value of a field, in their order."""
        return [value for key, value in self.pairs if key == name]


def kind_of(content_type: bytes) -> str:
    """Return a Content-Type without its parameters, in lower case."""
    return content_type.decode("latin-1").partition(";")[0].strip().lower()


def read_urlencoded(body: bytes, most: int = MAX_FIELDS) -> Form:
    """Parse an urlencoded form of at most `most` fields, without a NUL.

    Raises Malformed for anything else.
    """
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=most
        )
    except ValueError:
        raise Malformed(BROKEN) from None
    return _checked(pairs)


def _checked(pairs: Iterable[tuple[str, str]]) -> Form:
    """Return the form. Raises Malformed if a text holds a NUL, which not every database accepts."""
    form = Form(pairs)
    if any("\0" in text for pair in form.pairs for text in pair):
        raise Malformed(NUL)
    return form


def read_form(body: bytes, scope: Scope, most: int = MAX_FIELDS) -> Form:
    """Parse a form of either kind. A body of another Content-Type has no fields.

    Raises Malformed if the form cannot be parsed, has more than `most` fields, or holds a NUL.
    """
    content_type = dict(scope["headers"]).get(b"content-type", b"")
    kind = kind_of(content_type)
    if kind == URLENCODED:
        return read_urlencoded(body, most)
    return _read_multipart(content_type, body, most) if kind == MULTIPART else Form()


def _read_multipart(content_type: bytes, body: bytes, most: int) -> Form:
    """Parse a form of RFC 7578: between two delimiters, each part has headers and a value."""
    boundary = _parameter(content_type, b"boundary")
    _, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary, most + 1)
    if not boundary or not parts or not parts.pop().startswith(b"--"):
        raise Malformed(BROKEN)
    return _checked(map(_field, parts))


def _field(part: bytes) -> tuple[str, str]:
    head, _, content = part.partition(b"\r\n\r\n")
    padding, *headers = head.split(b"\r\n")
    found = [line.partition(b":") for line in headers]
    named = {name.strip().lower(): value for name, _, value in found}
    disposition = named.get(b"content-disposition", b"")
    name = _parameter(disposition, b"name").decode(errors="replace")
    if padding.strip() or not name or _parameter(disposition, b"filename"):
        raise Malformed(BROKEN)
    try:
        return name, content.decode()
    except UnicodeDecodeError:
        raise Malformed(BROKEN) from None


def _parameter(value: bytes, name: bytes) -> bytes:
    """Return a parameter of a header's value, without its quotes. Empty if there is none."""
    for given, quoted, bare in PARAMETER.findall(value):
        if given.lower() == name:
            return ESCAPED.sub(rb"\1", quoted) or bytes(bare.strip())
    return b""
