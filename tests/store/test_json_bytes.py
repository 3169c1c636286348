"""The memory of JSON that stays in memory: the caches of payloads count the bytes of bodies."""

import tracemalloc
from collections.abc import Callable

import orjson
import pytest

from store.delivery.outbox import make_event
from store.formats.event_view import EventView
from store.formats.formats import render
from store.formats.long_numbers import rewritten

PAYLOAD = {"action": "opened", "issue": {"body": "x" * 8000}}
TEXT = orjson.dumps(PAYLOAD)
# The other objects that a maker returns.
BESIDE = 4096
MAKERS: dict[str, Callable[[], bytes]] = {
    "a change": lambda: make_event("issues", "opened", 1, PAYLOAD).body,
    "a line of a batch": lambda: rewritten(TEXT, PAYLOAD, lambda parsed: parsed),
    "a CloudEvent": lambda: (
        render("cloudevents_structured", EventView("issues", "guid", TEXT, 0)).body
    ),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_a_body_takes_no_more_memory_than_its_bytes(maker: str) -> None:
    MAKERS[maker]()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        body = MAKERS[maker]()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(body) > 8000
    assert after - before < len(body) + BESIDE
