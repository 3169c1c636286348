"""Fixtures of the API's tests: a client, and a platform that posts events."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from bearer import Headers, bearer
from hub_client import open_client
from issue_world import Platform
from store_world import World

from hub.settings import HubSettings
from store import Store
from store.clock import MovableClock
from store.repositories import repositories


@pytest.fixture
async def hub(store: Store, seed: Any, settings: HubSettings) -> AsyncIterator[httpx.AsyncClient]:
    """A client without credentials. Its answers are checked against the contract."""
    async with open_client(store, settings) as opened:
        yield opened


@pytest.fixture
def octo(seed: Any) -> Headers:
    """The headers with octo's token."""
    return bearer(seed.token)


@pytest.fixture
def reader(seed: Any) -> Headers:
    """The headers with the token of reader."""
    return bearer(seed.reader_token)


@pytest.fixture
def platform(store: Store, clock: MovableClock, seed: Any) -> Platform:
    """A platform that posts events of octo/hello."""
    row = store.read_sync(repositories.get, seed.hello["id"])
    assert row is not None
    return Platform(World(store, clock, {}, row))
