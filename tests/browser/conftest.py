"""A browser, and a `tocsin serve` with something to see, for all tests of this directory."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from chromium import launched
from daemon import ledger
from dashboard_guests import DashboardServer, Guest, Visiting
from playwright.async_api import Browser, expect
from waiting import PATIENCE

# The patience with a machine that has other things to do, too.
expect.set_options(timeout=PATIENCE * 1000)


@pytest.fixture(scope="package")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="package")
async def browser(anyio_backend: str) -> AsyncIterator[Browser]:
    async with launched() as opened:
        yield opened


@pytest.fixture(scope="package")
async def server(
    anyio_backend: str, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[DashboardServer]:
    """A daemon at work on the world of `world.py`; what tests add to it stays."""
    async with ledger() as receiver:
        made = DashboardServer(tmp_path_factory.mktemp("dashboard") / "data", receiver)
        try:
            await made.open()
            yield made
        finally:
            await made.close()


@pytest.fixture
async def visit(browser: Browser, server: DashboardServer) -> AsyncIterator[Visiting]:
    """`await visit("ada")`: a page of a browser of its own, signed in as ada (root, ada, bob;
    None: not at all). `dark`, `narrow`, `scripts=False`, `zone` as somebody may have it.

    After the test: nothing was loaded from another host, and nothing was complained about.
    """
    guests: list[Guest] = []

    async def call(login: str | None = "ada", **how: Any) -> Guest:
        guests.append(await Guest.arrive(browser, server, login, **how))
        return guests[-1]

    yield call
    for guest in guests:
        await guest.context.close()
    for guest in guests:
        guest.watched.check()


@pytest.fixture(scope="module")
async def readers(anyio_backend: str) -> AsyncIterator[dict[Any, Guest]]:
    """Yield those who `read`, by who they are and how they look at pages."""
    known: dict[Any, Guest] = {}
    yield known
    for guest in known.values():
        await guest.context.close()
    for guest in known.values():
        guest.watched.check()


@pytest.fixture
async def read(
    browser: Browser, server: DashboardServer, readers: dict[Any, Guest]
) -> AsyncIterator[Visiting]:
    """Do the same as `visit` for a test that loads pages and changes nothing.

    A reader comes again with the browser of the test before. A new browser, in which axe has not
    run yet, costs twice as much as the page.
    """
    used: list[Guest] = []

    async def call(login: str | None = "ada", **look: bool) -> Guest:
        who = (login, *sorted(look.items()))
        if who not in readers:
            readers[who] = await Guest.arrive(browser, server, login, **look)
        used.append(readers[who])
        await used[-1].look(**look)
        return used[-1]

    yield call
    for guest in used:
        guest.watched.check()


@pytest.fixture
async def client(server: DashboardServer) -> AsyncIterator[httpx.AsyncClient]:
    """For requests that no page makes."""
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=PATIENCE) as opened:
        yield opened


@pytest.fixture
def pictures() -> Path:
    """Where the pages' pictures are kept, to be looked at."""
    return Path(__file__).parent / "pictures"
