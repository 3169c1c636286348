"""Bodies with one JSON object per line."""

import weakref

import pytest

from hub.http.errors import Rejected
from hub.http.ndjson import read


class Content:
    """A parsed line."""


def test_the_errors_of_bad_lines_do_not_keep_the_lines() -> None:
    parsed: weakref.WeakSet[Content] = weakref.WeakSet()

    def refuse(number: int, text: bytes) -> None:
        content = Content()
        parsed.add(content)
        try:
            raise ValueError(content)
        except ValueError:
            raise Rejected("it is bad") from None

    with pytest.raises(Rejected) as caught:
        read(b"1\n2", 2, "Thing", refuse)
    assert [error["message"] for error in caught.value.errors] == [
        "line 1: it is bad",
        "line 2: it is bad",
    ]
    assert list(parsed) == []
