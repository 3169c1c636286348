"""Checking what comes in against declared types, and pydantic's errors in the API's words."""

from collections.abc import Mapping
from typing import Annotated, Any

import orjson
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)

from hub.http.body import JSON_WHITESPACE
from hub.http.errors import Malformed, Rejected
from store import clock

MAX_ERRORS = 10
NONE = b"{}"
"""The body that is meant where there is none."""


def read_json(raw: bytes) -> Any:
    """What this JSON says. Malformed for anything else."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise Malformed("Problems parsing JSON") from None


def read_object(raw: bytes) -> dict[str, Any]:
    """A JSON object. Malformed for anything else."""
    content = read_json(raw)
    if not isinstance(content, dict):
        raise Malformed("Body should be a JSON object")
    return content


def read_body(adapter: TypeAdapter[Any], raw: bytes, *, only_object: bool = True) -> Any:
    """A request's body as declared; none is an empty object. Malformed for what is no JSON, or no
    object where `only_object` says that nothing else can be right.
    """
    if not raw.strip(JSON_WHITESPACE):
        raw = NONE
    if only_object:
        read_object(raw)
    else:
        read_json(raw)
    try:
        return adapter.validate_json(raw, strict=True)
    except ValidationError as error:
        raise _rejected(error) from None


def read_query(adapter: TypeAdapter[Any], query: Mapping[str, str]) -> Any:
    """Query parameters as declared; others are nobody's business."""
    try:
        return adapter.validate_python(dict(query))
    except ValidationError as error:
        raise _rejected(error) from None


def _rejected(error: ValidationError) -> Rejected:
    return Rejected("Invalid request.\n\n" + "\n".join(messages_of(error)))


def messages_of(error: ValidationError) -> list[str]:
    """What is wrong, a sentence each."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = (_field_error(one["loc"], one["type"], one["msg"]) for one in found[:MAX_ERRORS])
    return list(dict.fromkeys(told))


def _field_error(location: tuple[int | str, ...], kind: str, message: str) -> str:
    # A union's members are told apart by a word of pydantic's, which is no part of the path.
    path = "/".join(str(part) for part in location if "[" not in str(part))
    if kind == "missing":
        return f'"{path}" wasn\'t supplied.'
    if kind == "extra_forbidden":
        return f'"{path}" is not a permitted key.'
    return f"For '{path}': {message}."


def _moment(text: object) -> int:
    try:
        return clock.parse(str(text))
    except (ValueError, OverflowError):
        raise ValueError("not an ISO 8601 time such as 2026-11-21T07:33:00Z") from None


Moment = Annotated[
    int,
    BeforeValidator(_moment),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A time in a query: ISO 8601 outside, microseconds inside."""


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not hold a NUL")
    return text


Text = Annotated[
    str, AfterValidator(_no_nul), Field(json_schema_extra={"pattern": "^[^\\u0000]*$"})
]
"""A text that every engine of the store can be asked for."""
