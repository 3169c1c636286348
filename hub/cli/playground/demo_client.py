"""The demonstration's client: it subscribes and posts events over HTTP, as any client would."""

import contextlib
from collections.abc import AsyncIterator

import click
import httpx

from hub.cli.playground.demo_events import EVENTS, NAME, OWNER, REPOSITORY, USER
from hub.event_examples.examples import payload
from hub.rest.urls import Urls
from store.errors import Unusable

# Seconds for a response, and for all deliveries.
PATIENCE = 30


class DemoClient:
    """A client of the demonstration's hub."""

    def __init__(self, hub: str, client: httpx.AsyncClient) -> None:
        self._hub = hub
        self._client = client

    async def subscribe(self, callback: str, secret: str) -> None:
        """Subscribe the callback to each of the events, and print each request."""
        for event in EVENTS:
            topic = f"{self._hub}/{OWNER}/{NAME}/events/{event}.json"
            form = {
                "hub.mode": "subscribe",
                "hub.topic": topic,
                "hub.callback": callback,
                "hub.secret": secret,
            }
            _expect(await self._client.post("/hub", data=form), f"POST /hub  {topic}")

    async def post(self, event: str) -> None:
        path = f"/{OWNER}/{NAME}/events/{event}"
        content = payload(event, Urls(self._hub), REPOSITORY, USER)
        _expect(await self._client.post(path, json=content))


@contextlib.asynccontextmanager
async def demo_client(hub: str, token: str) -> AsyncIterator[DemoClient]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(
        base_url=hub, headers=headers, trust_env=False, timeout=PATIENCE
    ) as client:
        yield DemoClient(hub, client)


def _expect(answer: httpx.Response, said: str | None = None) -> None:
    if not answer.is_success:
        raise Unusable(f"{answer.request.url} answered {answer.status_code}: {answer.text}")
    if said is not None:
        click.echo(f"{answer.status_code}  {said}")
