"""Validation of input against declared types, with pydantic's errors in the API's words."""

from collections.abc import Mapping
from typing import Annotated, Any

from annotated_types import Ge, Lt
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
from hub.http.errors import Rejected, TooLarge
from store import clock

MAX_ERRORS = 10
# Beyond this number, errors are only counted: pydantic makes an object for each of them.
MOST_DESCRIBED = 10_000
# pydantic keeps the interpreter, for seconds if a body has millions of values. A body may have
# FREE_VALUES, or as many as fit into its limit if each takes BYTES_PER_VALUE.
FREE_VALUES, BYTES_PER_VALUE = 100_000, 20
SIMPLE_TYPES = {"bool", "dict", "float", "int", "list", "str", "constrained-int", "constrained-str"}
NONE = b"{}"
"""The body assumed for a request without one."""


def read_body(
    adapter: TypeAdapter[Any], raw: bytes, *, limit: int = 0, only_object: bool = True
) -> Any:
    """Validate a request's body against its declared type. An empty body is an empty object.

    `limit` is the most bytes that it may have. Raises Malformed if it is not JSON, or no object
    while `only_object` requires one, TooLarge if it has too many values, and Rejected if it does
    not match the type.
    """
    if not raw.strip(JSON_WHITESPACE):
        raw = NONE
    content = read_object(raw) if only_object else read_json(raw)
    most = max(limit // BYTES_PER_VALUE, FREE_VALUES)
    if len(raw) > most:
        _check_number(content, most)
    try:
        return adapter.validate_json(raw, strict=True)
    except ValidationError as error:
        raise _rejected(error) from None


def _check_number(content: Any, most: int) -> None:
    """Raise TooLarge if JSON has more than `most` values."""
    found, waiting = 1, [content]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            one = one.values()
        elif not isinstance(one, list):
            continue
        found += len(one)
        if found > most:
            raise TooLarge(f"The body has more than the limit of {most} values.")
        waiting.extend(one)


def require_body(raw: bytes) -> None:
    """Check that a request has a body. Raises Rejected if not."""
    if not raw.strip(JSON_WHITESPACE):
        raise Rejected("Invalid request.\n\nA body wasn't supplied.")


def read_query(adapter: TypeAdapter[Any], query: Mapping[str, str]) -> Any:
    """Validate query parameters against their declared type.

    Undeclared ones are ignored, as are empty ones that name one of several words: Net::GitHub sends
    them for choices that nobody made. Raises Rejected if they do not match.
    """
    try:
        return adapter.validate_python(dict(query))
    except ValidationError as error:
        unmade = _unmade_choices(error)
        if not unmade:
            raise _rejected(error) from None
    return read_query(adapter, {name: text for name, text in query.items() if name not in unmade})


def _unmade_choices(error: ValidationError) -> set[str]:
    found = error.errors(include_url=False, include_context=False)
    return {_path(one)[0] for one in found if one["type"] == "literal_error" and not one["input"]}


def _rejected(error: ValidationError) -> Rejected:
    return Rejected("Invalid request.\n\n" + "\n".join(messages_of(error)))


def messages_of(error: ValidationError) -> list[str]:
    """Return the errors as sentences, at most MAX_ERRORS."""
    if error.error_count() > MOST_DESCRIBED:
        return [f"There are {error.error_count()} errors."]
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


def _in_digits(text: str) -> str:
    if not (text.isascii() and text.isdigit()):
        raise ValueError("not a whole number in digits")
    return text


Digits = BeforeValidator(_in_digits)
"""For each number in a query, as in a path: it has no sign, space, underscore or fraction."""


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not hold a NUL")
    return text


Text = Annotated[
    str, AfterValidator(_no_nul), Field(json_schema_extra={"pattern": "^[^\\u0000]*$"})
]
"""A text that every database engine accepts as a parameter: without NUL."""

Id = Annotated[int, Ge(0), Lt(2**63)]
"""An id in a body. A larger number does not fit into a column of the database."""
