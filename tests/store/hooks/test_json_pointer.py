"""JSON Pointers: the examples of RFC 6901, pointers to missing values, and invalid ones."""

import pytest

from store.hooks import json_pointer

DOCUMENT = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ("/e^f", 3),
        ("/g|h", 4),
        ("/i\\j", 5),
        ('/k"l', 6),
        ("/ ", 7),
        ("/m~0n", 8),
        ("/foo/2", None),
        ("/foo/00", None),
        ("/foo/-", None),
        ("/foo/-1", None),
        ("/foo/9999999999", None),
        ("/foo/0/x", None),
        ("/none", None),
    ],
)
def test_a_pointer_leads_to_its_value(pointer: str, value: object) -> None:
    assert json_pointer.resolve(DOCUMENT, json_pointer.check(pointer)) == value


@pytest.mark.parametrize("pointer", ["", "foo", "/a~2", "/a~", "/a\0", "/" + "a" * 512])
def test_invalid_pointers_are_rejected(pointer: str) -> None:
    with pytest.raises(ValueError, match="JSON Pointer"):
        json_pointer.check(pointer)
