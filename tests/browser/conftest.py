"""A browser, and a `tocsin serve` with data for the dashboard, for all tests of this directory."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from chromium import launched
from daemon import ledger
from dashboard_guests import DashboardServer, Guest, Visiting
from playwright.async_api import Browser, expect
from reader import Reader
from shared_contexts import SharedContexts
from waiting import PATIENCE

# On a busy machine, a page can take longer than Playwright's own timeout.
expect.set_options(timeout=PATIENCE * 1000)

FRUGAL = (
    # A context has one process, which has already compiled the scripts for its next page.
    "--renderer-process-limit=1",
    # Other threads would compete for the same memory.
    "--js-flags=--single-threaded --min-semi-space-size=64 --max-semi-space-size=64"
    # axe is compiled once, though it rests for long between two pages.
    " --no-flush-bytecode"
    # Optimized code is lost with its page, so optimizing axe takes longer than it saves. Code of
    # the quick compiler stays for the next page.
    " --no-maglev --no-turbofan --always-sparkplug",
)


@pytest.fixture(scope="package")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="package")
async def browser(anyio_backend: str) -> AsyncIterator[Browser]:
    async with launched(*FRUGAL) as opened:
        yield opened


@pytest.fixture(scope="package")
async def contexts(anyio_backend: str, browser: Browser) -> AsyncIterator[SharedContexts]:
    made = SharedContexts(browser)
    yield made
    await made.close()


@pytest.fixture(scope="package")
async def server(
    anyio_backend: str, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[DashboardServer]:
    """A running daemon with the data of `world.py`. Data that a test adds stays for later tests."""
    async with ledger() as receiver:
        made = DashboardServer(tmp_path_factory.mktemp("dashboard") / "data", receiver)
        try:
            await made.open()
            yield made
        finally:
            await made.close()


@pytest.fixture
async def visit(contexts: SharedContexts, server: DashboardServer) -> AsyncIterator[Visiting]:
    """A function that opens a page: `await visit("ada")`.

    The page remembers no earlier test.

    It signs in root, ada, bob, or nobody if the login is None. `dark`, `narrow`, `scripts=False`
    and `zone` are settings of the browser. After the test, it asserts that no page has sent a
    request to another host, and that the browser has reported no error.
    """
    guests: list[Guest] = []

    async def call(login: str | None = "ada", **how: Any) -> Guest:
        guests.append(await contexts.guest(server, login, **how))
        return guests[-1]

    yield call
    for guest in guests:
        await contexts.leave(guest)
    for guest in guests:
        guest.watched.check()


@pytest.fixture(scope="module")
async def reader(
    anyio_backend: str, browser: Browser, server: DashboardServer
) -> AsyncIterator[Reader]:
    made = await Reader.arrive(browser, server)
    yield made
    await made.close()


@pytest.fixture
async def read(reader: Reader) -> AsyncIterator[Visiting]:
    """Do the same as `visit` for a test that loads pages and changes nothing.

    Tests of a module share a page. A new context, in which axe has not run yet, takes twice as
    long as the page.
    """
    used: list[Guest] = []

    async def call(login: str | None = "ada", **look: bool) -> Guest:
        used.append(await reader.become(login, **look))
        return used[-1]

    yield call
    for guest in used:
        guest.watched.check()


@pytest.fixture
async def client(server: DashboardServer) -> AsyncIterator[httpx.AsyncClient]:
    """A client for requests that no page sends."""
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=PATIENCE) as opened:
        yield opened
