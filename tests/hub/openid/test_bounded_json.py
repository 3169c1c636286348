"""JSON from a provider is read with a limit on its levels."""

import pytest

from hub.openid.bounded_json import MOST_LEVELS, parse


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_json_may_have_some_levels(opening: str, closing: str) -> None:
    for levels in (1, 2, MOST_LEVELS):
        parse(f"{opening * levels}1{closing * levels}".encode())
    for levels in (MOST_LEVELS + 1, 1000, 1024, 100_000):
        with pytest.raises(ValueError):
            parse(f"{opening * levels}1{closing * levels}".encode())


@pytest.mark.parametrize("text", [b"", b"{", b"NaN", b'"\\ud800"', b'"\xff"', b"\xff\xfe1\0"])
def test_text_that_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError):
        parse(text)
