"""The messages about input that does not match its declared type."""

from typing import Annotated, Any, NotRequired

import orjson
import pytest
from annotated_types import MaxLen, MinLen
from pydantic import TypeAdapter, with_config
from typing_extensions import TypedDict

from hub.http.errors import Rejected, TooLarge
from hub.operations import OPERATIONS
from hub.rest.operation import Operation
from hub.rest.validation import (
    BYTES_PER_VALUE,
    FREE_VALUES,
    MOST_DESCRIBED,
    Moment,
    Text,
    read_body,
    read_query,
)

Addresses = Annotated[list[Text], MinLen(1)]


class Emails(TypedDict):
    emails: Addresses


class Thing(TypedDict):
    name: Annotated[Text, MinLen(1), MaxLen(3)]
    value: NotRequired[Text | int]
    tags: NotRequired[dict[str, Text]]


class Since(TypedDict):
    since: Moment


@with_config({"extra": "forbid"})
class Closed(TypedDict, total=False):
    email: str


CLOSED: TypeAdapter[Any] = TypeAdapter(Closed)
FORMS: TypeAdapter[Any] = TypeAdapter(Emails | Addresses | Text)
THING: TypeAdapter[Any] = TypeAdapter(Thing)


@pytest.mark.parametrize(
    ("adapter", "body", "messages"),
    [
        (THING, '{}', ["\"name\" wasn't supplied."]),
        (THING, '{"name": ""}', ["For 'name': Value should have at least 1 character, not 0."]),
        (THING, '{"name": "abcd"}', ["For 'name': Value should have at most 3 characters, not 4."]),
        (THING, '{"name": "a\\u0000"}', ["For 'name': must not hold a NUL."]),
        (
            THING,
            '{"name": "a", "tags": {"X": 1}}',
            ["For 'tags/X': Input should be a valid string."],
        ),
        (
            THING,
            '{"name": "a", "value": []}',
            [
                "For 'value': Input should be a valid string.",
                "For 'value': Input should be a valid integer.",
            ],
        ),
        (CLOSED, '{"Email": "x"}', ['"Email" is not a permitted key.']),
        (CLOSED, '{"x[": 1}', ['"x[" is not a permitted key.']),
        (CLOSED, '{"str": 1}', ['"str" is not a permitted key.']),
        (FORMS, "{}", ["\"emails\" wasn't supplied."]),
        (FORMS, '{"emails": [1]}', ["For 'emails/0': Input should be a valid string."]),
        (
            FORMS,
            '[]',
            [
                "For the body: Input should be an object.",
                "For the body: List should have at least 1 item, not 0.",
                "For the body: Input should be a valid string.",
            ],
        ),
    ],
)  # fmt: skip
def test_a_message_names_the_place_and_no_type(
    adapter: TypeAdapter[Any], body: str, messages: list[str]
) -> None:
    with pytest.raises(Rejected) as caught:
        read_body(adapter, body.encode(), only_object=False)
    assert str(caught.value).split("\n") == ["Invalid request.", "", *messages]


def test_a_message_of_an_own_check_has_no_prefix() -> None:
    with pytest.raises(Rejected, match="For 'since': not an ISO 8601 time such as "):
        read_query(TypeAdapter(Since), {"since": "soon"})


def test_many_errors_are_counted_and_not_described() -> None:
    body = orjson.dumps(dict.fromkeys(map(str, range(MOST_DESCRIBED + 1)), 0))
    with pytest.raises(Rejected, match=f"There are {MOST_DESCRIBED + 1} errors"):
        read_body(CLOSED, body)


def test_a_body_with_too_many_values_is_not_validated() -> None:
    # The body itself, its two members, and the list's items.
    most = orjson.dumps({"name": "a", "more": [0] * (FREE_VALUES - 3)})
    assert read_body(THING, most) == {"name": "a"}
    beyond = most.replace(b"[", b"[0,")
    with pytest.raises(TooLarge):
        read_body(THING, beyond)
    assert read_body(THING, beyond, limit=BYTES_PER_VALUE * (FREE_VALUES + 1)) == {"name": "a"}


CHOICES = [
    (one, name)
    for one in OPERATIONS
    if one.query is not None
    for name, member in one.query.json_schema()["properties"].items()
    if "enum" in member
]


@pytest.mark.parametrize(("operation", "name"), CHOICES, ids=lambda one: getattr(one, "id", one))
def test_an_empty_choice_in_a_query_is_like_none(operation: Operation, name: str) -> None:
    """Net::GitHub asks for `/user/repos?type=`."""
    assert operation.query is not None
    assert read_query(operation.query, {name: ""}) == read_query(operation.query, {})
    with pytest.raises(Rejected, match=f"For '{name}': "):
        read_query(operation.query, {name: " "})


NUMBERS = [
    (one, name)
    for one in OPERATIONS
    if one.query is not None
    for name, member in one.query.json_schema()["properties"].items()
    if member.get("type") == "integer"
]


@pytest.mark.parametrize(("operation", "name"), NUMBERS, ids=lambda one: getattr(one, "id", one))
def test_a_number_in_a_query_is_in_digits(operation: Operation, name: str) -> None:
    """Python also reads signs, spaces and underscores."""
    assert operation.query is not None
    assert read_query(operation.query, {name: "010"})[name] == 10
    for text in ("1_0", "+10", " 10", "10.0", "\uff11"):
        with pytest.raises(Rejected, match=f"For '{name}': not a whole number in digits"):
            read_query(operation.query, {name: text})
