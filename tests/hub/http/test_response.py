"""The headers of responses."""

import pytest

from hub.http.response import header


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("/a b\t\xe9", b"/a b\t\xe9"),
        ("/a\r\nX: y", b"/a??X: y"),
        ("\0\x1f\x7f\N{EURO SIGN}", b"????"),
    ],
)
def test_a_header_holds_nothing_that_ends_its_line(value: str, sent: bytes) -> None:
    assert header("Location", value) == (b"location", sent)
