"""A person on call needs few clicks for each task, with 300,000 deliveries in the store."""

from collections.abc import AsyncIterator

import pytest
from busy_night import NightServer, busy_night
from counted_clicks import Clicks
from on_call_tasks import START, TASKS, Task
from playwright.async_api import Browser
from shared_contexts import SharedContexts


@pytest.fixture(scope="module")
async def night(
    anyio_backend: str, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[NightServer]:
    async with busy_night(tmp_path_factory.mktemp("night") / "data") as made:
        yield made


@pytest.mark.parametrize("task", [pytest.param(one, id=one.name) for one in TASKS])
async def test_clicks_of(contexts: SharedContexts, night: NightServer, task: Task):
    guest = await contexts.guest(night, "ada")
    clicks = await Clicks.counted(guest.page)
    await task.steps(await guest.go(START), clicks, night)
    await contexts.leave(guest)
    guest.watched.check()
    assert clicks.many <= task.most
    # If no click is counted, the test proves nothing.
    assert clicks.many > 0
