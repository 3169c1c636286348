"""Fields of payloads are read, and invalid ones are ignored."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.database import payload_reader

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
READERS = {
    "number": payload_reader.number,
    "flag": payload_reader.flag,
    "text": payload_reader.text(5),
    "name": payload_reader.text(5, least=1),
    "state": payload_reader.one_of("open", "closed"),
    "moment": payload_reader.timestamp,
    "null": payload_reader.nullable(payload_reader.timestamp),
}


@pytest.mark.parametrize(
    ("reader", "value", "found"),
    [
        ("number", 0, 0),
        ("number", 2**63 - 1, 2**63 - 1),
        ("flag", True, 1),
        ("flag", False, 0),
        ("text", "abcdefg", "abcde"),
        ("text", "a\0b", "ab"),
        ("text", "", ""),
        ("name", "a", "a"),
        ("state", "open", "open"),
        ("moment", "1970-01-01T00:00:01Z", 1_000_000),
        ("moment", "1970-01-01T01:00:00+01:00", 0),
        ("moment", 1, 1_000_000),
        ("null", None, None),
    ],
)
def test_valid_fields_are_read(reader: str, value: Any, found: Any) -> None:
    assert payload_reader.read_fields({reader: value}, READERS) == {reader: found}
    assert payload_reader.read_field({"other": value}, "other", READERS[reader]) == found


@pytest.mark.parametrize(
    ("reader", "value"),
    [
        ("number", -1),
        ("number", 2**63),
        ("number", True),
        ("number", 1.0),
        ("number", "1"),
        ("flag", 1),
        ("text", None),
        ("text", ["a"]),
        ("name", ""),
        ("name", "\0"),
        ("state", "ajar"),
        ("state", ["open"]),
        ("moment", "yesterday"),
        ("moment", "0001-01-01T00:00:00+23:00"),
        ("moment", "9999-12-31T23:59:59-01:00"),
        ("moment", "1969-12-31T23:59:59Z"),
        ("moment", -1),
        ("moment", 10**12),
        ("moment", True),
        ("null", "never"),
    ],
)
def test_invalid_fields_are_ignored(reader: str, value: Any) -> None:
    assert payload_reader.read_fields({reader: value}, READERS) == {}
    assert payload_reader.read_field({"other": value}, "other", READERS[reader]) is None


def test_a_column_can_have_another_name_than_its_field() -> None:
    readers = {"foreign_id": ("id", payload_reader.number)}
    assert payload_reader.read_fields({"id": 7, "foreign_id": 8}, readers) == {"foreign_id": 7}


def test_objects_within() -> None:
    reported = {"one": {"a": 1}, "some": [{"a": 1}, 2, None, {"b": 2}], "many": [{}] * 500}
    assert payload_reader.read_object(reported, "one") == {"a": 1}
    assert payload_reader.read_object(reported, "some") is None
    assert payload_reader.read_object_list(reported, "some") == [{"a": 1}, {"b": 2}]
    assert payload_reader.read_object_list(reported, "one") is None
    assert payload_reader.read_object_list(reported, "none") is None
    assert len(payload_reader.read_object_list(reported, "many") or []) == payload_reader.MOST_PARTS


@pytest.mark.parametrize(
    ("parts", "most", "many"),
    [
        ([], 0, 0),
        (["abcd", "abcd"], 5, 0),
        (["abcd", "abcd"], 6, 1),
        (["abcd", "abcd"], 11, 1),
        (["abcd", "abcd"], 12, 2),
        # Bytes, and not letters.
        (["\N{BELL}"], 5, 0),
        (["\N{BELL}"], 6, 1),
        # Nothing after the part that is too much.
        (["a", "abcdefgh", "a"], 8, 1),
    ],
)
def test_the_first_parts_of_a_list_have_a_limit(parts: list[str], most: int, many: int) -> None:
    assert payload_reader.within(iter(parts), most) == parts[:many]


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(READERS, JSON)))
def test_nothing_is_raised(reported: dict[str, Any]) -> None:
    found = payload_reader.read_fields(reported, READERS)
    assert found.keys() <= reported.keys()
    assert all(value is not payload_reader.INVALID for value in found.values())
