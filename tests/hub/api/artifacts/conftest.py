"""The organization whose artifacts tests record, and a client of its owner."""

from collections.abc import AsyncIterator

import httpx
import pytest
from artifact_world import Acme, make
from hub_client import open_client

from hub.settings import HubSettings
from store import Store


@pytest.fixture
def acme(store: Store) -> Acme:
    return make(store)


@pytest.fixture
async def hub(store: Store, acme: Acme, settings: HubSettings) -> AsyncIterator[httpx.AsyncClient]:
    bounds = settings.model_copy(update={"max_body_bytes": 1024 * 1024})
    async with open_client(store, bounds, headers=acme.by()) as opened:
        yield opened
