"""Bodies that are parsed as JSON."""

import orjson
import pytest

from hub.http import body
from hub.http.errors import Malformed
from store.errors import Busy


def test_a_body_without_memory_for_it_is_not_malformed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sender repeats an event that is answered 503, and gives up one that is answered 400."""

    def refuse(raw: bytes) -> object:
        raise orjson.JSONDecodeError("Not enough memory to allocate buffer for parsing", "", 0)

    with pytest.raises(Malformed):
        body.read_object(b"{")
    monkeypatch.setattr(orjson, "loads", refuse)
    with pytest.raises(Busy, match="not enough memory"):
        body.read_object(b"{}")
