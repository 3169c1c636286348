"""The dashboard's search for a text: with the index it reads less and shows the same."""

import json
import re

import pytest
from attempt_rows import add_attempts
from dashboard_client import open_dashboard, text_of
from ui_world import World

from store import Connection, Row
from store.delivery import attempt_text, events
from store.text_index.portions import WIDTH
from worker.jobs.index_texts import index_texts

PLAIN = (b'{"text": "nothing of interest"}', "thanks")


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt_text, "SECONDS", 1e9)


def guids(page: str) -> list[str]:
    return re.findall(r'class="guid">([^<]+)<', page)


def bell(text: str) -> tuple[bytes, str]:
    return json.dumps({"text": text}).encode(), "thanks"


async def test_the_index_shows_the_same_and_reads_less(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    get_many = events.get_many

    def noted(db: Connection, event_ids: list[int], most: int) -> dict[int, Row | None]:
        bodies = get_many(db, event_ids, most)
        read.extend(bodies)
        return bodies

    monkeypatch.setattr(events, "get_many", noted)
    world.store.write_sync(add_attempts, world.hidden["id"], [bell("a rare Glöckner")] * 2)
    world.store.write_sync(add_attempts, world.other["id"], [bell("their rare Glöckner")])
    world.store.write_sync(add_attempts, world.good["id"], [PLAIN] * 2 * WIDTH)
    for token, expected in (
        (world.seed.token, ["g-2", "g-1"]),
        (world.operator, ["g-3", "g-2", "g-1"]),
    ):
        async with open_dashboard(world.store, token, last=token == world.operator) as browser:
            place = "/ui/deliveries?text=rare+GL%C3%96CKNER"
            if token == world.seed.token:
                read.clear()
                assert guids(await browser.page(place)) == expected
                assert len(read) >= 2 * WIDTH
                await index_texts(world.store)
            read.clear()
            page = await browser.page(place)
            assert guids(page) == expected
            assert len(read) < WIDTH
            assert "Search further back" not in text_of(page)
            nothing = text_of(await browser.page("/ui/deliveries?text=nowhere+at+all"))
            assert "nowhere at all" not in guids(nothing)
            assert "g-1" not in nothing
