"""An administrator at night needs at most two clicks for an answer, among 20,000 deliveries."""

from collections.abc import AsyncIterator

import pytest
from busy_night import NightServer, busy_night
from counted_clicks import Clicks
from night_questions import QUESTIONS, Question
from on_call_tasks import START
from playwright.async_api import Browser
from shared_contexts import SharedContexts

EVENTS = 2_000


@pytest.fixture(scope="module")
async def night(
    anyio_backend: str, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[NightServer]:
    async with busy_night(tmp_path_factory.mktemp("night") / "data", EVENTS) as made:
        yield made


@pytest.mark.parametrize("question", [pytest.param(one, id=one.asked) for one in QUESTIONS])
async def test_clicks_and_keys_of(contexts: SharedContexts, night: NightServer, question: Question):
    guest = await contexts.guest(night, "root")
    clicks = await Clicks.counted(guest.page)
    await question.steps(await guest.go(START), clicks, night)
    await contexts.leave(guest)
    guest.watched.check()
    print(question.asked, clicks.many, clicks.keys)
    assert clicks.many <= question.clicks
    assert clicks.keys <= question.keys
    # If nothing is counted, the test proves nothing.
    assert clicks.many + clicks.keys > 0 or question.clicks + question.keys == 0
