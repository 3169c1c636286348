"""Search for a text in payloads and responses, with limits of time and size."""

import itertools
import json

import pytest
from store_world import World

from store.delivery import attempt_text
from store.delivery.attempt_filter import AttemptFilter
from store.delivery.outcomes import attempt_outcomes


@pytest.fixture
def sent(world: World) -> World:
    """Six deliveries. The third has "Glöckner" in its payload, and the last in its response."""
    hook, lease = world.hook("push"), world.lease()
    for number in range(6):
        text = "Glöckner" if number == 2 else "nothing"
        body = json.dumps({"text": text}, ensure_ascii=number % 2 == 0).encode()
        world.arrive(f"g-{number}", body=body)
    claimed = world.claim(lease, hook["id"])
    world.store.write_sync(
        attempt_outcomes.record,
        [
            world.outcome(lease, one, response_body="a glöckner" if at == 5 else "no")
            for at, one in enumerate(claimed)
        ],
    )
    return world


def guids(world: World, text: str, **given: object) -> list[str]:
    given = {"limit": 10} | given
    found = world.store.read_sync(attempt_text.page, AttemptFilter(), text, **given)
    return [row["guid"] for row in found.rows]


def test_a_text_is_found_in_any_case_and_escaped(sent: World) -> None:
    assert guids(sent, "GLÖCKNER") == ["g-5", "g-2"]
    assert guids(sent, "öck") == ["g-5", "g-2"]
    # A payload is found as a page shows it, with a space, and as a compact one would be.
    assert guids(sent, '"text": "GLÖ') == guids(sent, '{"text":"glö') == ["g-2"]
    assert guids(sent, "%") == []
    assert guids(sent, "nowhere") == []


def test_pages_follow_each_other(sent: World) -> None:
    first = sent.store.read_sync(attempt_text.page, AttemptFilter(), "nothing", limit=2)
    assert [row["guid"] for row in first.rows] == ["g-5", "g-4"]
    assert guids(sent, "nothing", limit=9, before=first.older) == ["g-3", "g-1", "g-0"]


def test_a_bounded_search_reports_its_position(
    sent: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt_text, "CHUNK", 2)
    late = itertools.count(step=10)
    for limits in ({"most_bytes": 1}, {"clock": lambda: float(next(late))}):
        found = sent.store.read_sync(attempt_text.page, AttemptFilter(), "öck", limit=10, **limits)
        assert [row["guid"] for row in found.rows] == ["g-5"]
        assert found.scanned == 2
        assert guids(sent, "öck", before=found.older) == ["g-2"]
