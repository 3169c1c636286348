"""Serializers turn a row into its declared type: columns, times, and given values."""

from typing import NotRequired

import pytest
from typing_extensions import TypedDict

from hub.rest.serializers import node_id, row_serializer

AT = 1_763_710_380_000_000
ISO = "2025-11-21T07:33:00Z"


class Named(TypedDict):
    id: int
    node_id: str
    name: str


class Thing(Named):
    url: str
    note: NotRequired[str]
    created_at: str
    ended_at: str | None


ROW = {"ended_at": None, "created_at": AT, "name": "a", "id": 7, "note": "n", "secret": "s"}


def test_members_are_those_of_the_type_in_its_order() -> None:
    thing = row_serializer(Thing, "url", kind="Label")
    assert [*thing(ROW, url="u").items()] == [
        ("id", 7),
        ("node_id", node_id("Label", 7)),
        ("name", "a"),
        ("url", "u"),
        ("created_at", ISO),
        ("ended_at", None),
    ]


def test_given_values_replace_columns() -> None:
    named = row_serializer(Named, "id", "name", kind="Label")
    assert named(ROW, id=8, name="b") == {"id": 8, "node_id": node_id("Label", 8), "name": "b"}


def test_without_a_kind_the_node_id_is_a_member_like_others() -> None:
    assert row_serializer(Named, "node_id")(ROW, node_id="N")["node_id"] == "N"


def test_each_call_gives_exactly_the_declared_values() -> None:
    named = row_serializer(Named, "name", kind="Label")
    with pytest.raises(TypeError, match="name"):
        named(ROW)
    with pytest.raises(TypeError, match="id"):
        named(ROW, name="b", id=8)


def test_a_member_from_nowhere_is_an_error() -> None:
    with pytest.raises(KeyError, match="node_id"):
        row_serializer(Named)(ROW)


@pytest.mark.parametrize("name", ["note", "parts", "secret"])
def test_only_required_members_are_given(name: str) -> None:
    with pytest.raises(AssertionError, match="Thing has no such required members"):
        row_serializer(Thing, "url", name)


def test_the_row_stays_as_it_is() -> None:
    before = dict(ROW)
    row_serializer(Named, kind="Label")(ROW)
    assert before == ROW
