"""Clients of a hub under test, whose answers are held to its document and to the contract."""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

import httpx
from contract_checks import hold, hold_event

from hub.app import create_app
from hub.auth import authentications, rate_counters
from hub.settings import HubSettings
from store import Store
from store.delivery import outbox
from store.delivery.incoming import IncomingEvent
from store.errors import Invalid
from worker.pull.fetch_queue import FetchQueue
from worker.settings import WorkerSettings

if find_spec("sniffio") is None:
    # httpx would look for it in every folder with every request.
    sys.modules["sniffio"] = None  # type: ignore[assignment]


def _if_set(extract: Callable[..., None]) -> Callable[..., None]:
    def extracted(cookies: httpx.Cookies, response: httpx.Response) -> None:
        if "set-cookie" in response.headers:
            extract(cookies, response)

    return extracted


# httpx makes a request of urllib's from each answer, also from those without cookies.
httpx.Cookies.extract_cookies = _if_set(httpx.Cookies.extract_cookies)  # type: ignore[method-assign]


def _held(change: Callable[..., IncomingEvent]) -> Callable[..., IncomingEvent]:
    def made(*given: Any) -> IncomingEvent:
        arrival = change(*given)
        hold_event(arrival.name, json.loads(arrival.body))
        return arrival

    return made


# Periodic writes, every second, would be among the statements that a test counts.
rate_counters.INTERVAL = authentications.DELAY = 3600.0

# Every event that a test makes the hub emit, in any way.
outbox.make_event = _held(outbox.make_event)


async def judge(url: str) -> None:
    """Refuses what a test says is to be refused, and what is no web address at all."""
    if not url.startswith(("http://", "https://")) or "forbidden" in url:
        raise Invalid(f"{url} is refused: the test says so")


def holding(settings: HubSettings) -> Callable[[httpx.Response], Awaitable[None]]:
    """The checks of every answer of a hub with these settings."""
    prefix = httpx.URL(settings.root()).path.rstrip("/")

    async def look(answer: httpx.Response) -> None:
        await answer.aread()
        if not settings.vocabulary:
            hold(answer, prefix)

    return look


@asynccontextmanager
async def open_client(
    store: Store, settings: HubSettings, **given: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """A client; its paths are under the API's root. `given` goes to httpx. The store is closed."""
    app = create_app(store, settings, judge, pull_queue=FetchQueue(WorkerSettings()))
    client = httpx.AsyncClient(
        transport=httpx.ASGITransport(app),
        base_url=settings.root(),
        event_hooks={"response": [holding(settings)]},
        **given,
    )
    async with client:
        yield client
    await store.close()


async def anonymously(client: httpx.AsyncClient, path: str) -> httpx.Response:
    """The answer that a client gets without its credentials."""
    request = client.build_request("GET", path)
    request.headers.pop("Authorization", None)
    return await client.send(request)
