"""Validation of input against declared types, with pydantic's errors in the API's words."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import ErrorDetails

from hub.http.body import JSON_WHITESPACE, read_json, read_object
from hub.http.errors import Rejected
from store import clock

MAX_ERRORS = 10
SIMPLE_TYPES = {"bool", "dict", "float", "int", "list", "str"}
NONE = b"{}"
"""The body assumed for a request without one."""


def read_body(adapter: TypeAdapter[Any], raw: bytes, *, only_object: bool = True) -> Any:
    """Validate a request's body against its declared type. An empty body is an empty object.

    Raises Malformed if it is not JSON, or no object while `only_object` requires one, and Rejected
    if it does not match the type.
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


def require_body(raw: bytes) -> None:
    """Check that a request has a body. Raises Rejected if not."""
    if not raw.strip(JSON_WHITESPACE):
        raise Rejected("Invalid request.\n\nA body wasn't supplied.")


def read_query(adapter: TypeAdapter[Any], query: Mapping[str, str]) -> Any:
    """Validate query parameters against their declared type; undeclared ones are ignored.

    Raises Rejected if they do not match.
    """
    try:
        return adapter.validate_python(dict(query))
    except ValidationError as error:
        raise _rejected(error) from None


def _rejected(error: ValidationError) -> Rejected:
    return Rejected("Invalid request.\n\n" + "\n".join(messages_of(error)))


def messages_of(error: ValidationError) -> list[str]:
    """Return the errors as sentences, at most MAX_ERRORS."""
    found = error.errors(include_url=False, include_input=False)[:MAX_ERRORS]
    # A body that one form of several almost fits is not compared with the other forms.
    inside = [one for one in found if _path(one)]
    return list(dict.fromkeys(map(_field_error, inside or found)))


def _field_error(error: ErrorDetails) -> str:
    path = "/".join(_path(error))
    if error["type"] == "missing":
        return f'"{path}" wasn\'t supplied.'
    if error["type"] == "extra_forbidden":
        return f'"{path}" is not a permitted key.'
    message = error["msg"].removeprefix("Value error, ").replace(" after validation", "")
    if error.get("ctx", {}).get("field_type") == "Value":
        # pydantic counts "items" of a text that another check has passed.
        message = message.replace(" item", " character")
    return f"For '{path}': {message}." if path else f"For the body: {message}."


def _path(error: ErrorDetails) -> list[str]:
    """Return the path of a value, without the labels that pydantic adds for the types of unions."""
    location = [str(part) for part in error["loc"]]
    # These errors end with the name of a member, which looks like a label if the client chose it.
    member = [location.pop()] if error["type"] in ("missing", "extra_forbidden") else []
    parts = [part for part in location if "[" not in part]
    if parts and parts[0][:1].isupper():
        parts = parts[1:]
    if not member and len(parts) > 1 and parts[-1] in SIMPLE_TYPES:
        parts = parts[:-1]
    return parts + member


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
"""A time in a query: ISO 8601 text, converted to microseconds."""


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not hold a NUL")
    return text


Text = Annotated[
    str, AfterValidator(_no_nul), Field(json_schema_extra={"pattern": "^[^\\u0000]*$"})
]
"""A text that every database engine accepts as a parameter: without NUL."""
