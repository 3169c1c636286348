"""Tasks of an operator on call in a browser, with 300,000 deliveries in the store and with few."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

from busy_night import EVENTS, NightServer
from chromium import launched
from counted_clicks import Clicks
from daemon import ledger
from dashboard_guests import Guest
from on_call_tasks import START, TASKS, Task
from playwright.async_api import Browser

from tests.benchmarks.harness.figure import Bench, Row, Turns

FEW = EVENTS // 50
WANTED = 10.0


def measure(bench: Bench) -> Iterator[Row]:
    """Seconds from the overview to the end of each task."""
    for task, turns in asyncio.run(_measured(bench)).items():
        took = turns.row(f"{task.name}, {task.most} clicks", "s", WANTED, more=False)
        took.absolute = True
        yield took


async def _measured(bench: Bench) -> dict[Task, Turns]:
    found = {task: Turns({"ours": [], "reference": []}) for task in TASKS}
    async with launched() as browser:
        for number in range(bench.rounds):
            # Each round has a new store, so that it does not see the changes of earlier tasks.
            for side in ("ours", "reference") if number % 2 else ("reference", "ours"):
                bench.said(f"tasks: {side}, round {number + 1} of {bench.rounds}")
                many = EVENTS if side == "ours" else FEW
                took = await _night(browser, bench.directory / f"{number}-{side}", many)
                for task, seconds in took.items():
                    found[task].values[side].append(seconds)
    return found


async def _night(browser: Browser, folder: Path, many: int) -> dict[Task, float]:
    """Return the seconds that each task takes with `many` events in the store."""
    async with AsyncExitStack() as stack:
        server = NightServer(folder, await stack.enter_async_context(ledger()), many)
        stack.push_async_callback(server.close)
        await server.open()
        return {task: await _took(browser, server, task) for task in TASKS}


async def _took(browser: Browser, server: NightServer, task: Task) -> float:
    guest = await Guest.arrive(browser, server, "ada")
    clicks = await Clicks.counted(guest.page)
    started = time.perf_counter()
    await task.steps(await guest.go(START), clicks, server)
    took = time.perf_counter() - started
    await guest.context.close()
    return took
