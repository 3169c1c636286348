"""A list that is too long to be sorted as a whole has the same pages as a sorted list."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from assertions import BASE
from bulk_owners import people
from bulk_rows import FILL
from hub_client import open_client
from operations_world import World, first, make, path

from hub.operations import OPERATIONS
from hub.rest.operation import Operation
from hub.settings import HubSettings
from store import Connection, Store
from store.database import paging

# These lists have the order of a table that also has rows of other lists.
ORDERED = {
    "apps/list-installations-for-authenticated-user",
    "issues/list-assignees",
    "issues/list-labels-on-issue",
    "repos/list-collaborators",
    "repos/list-teams",
    "teams/list-members-in-org",
}
SHORT = 12


@pytest.fixture
def settings() -> HubSettings:
    return HubSettings(base_url=BASE, rate_limiting=False)


@pytest.fixture
def world(store: Store) -> World:
    return make(store)


@pytest.fixture
async def asker(
    store: Store, world: World, settings: HubSettings
) -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(store, settings) as opened:
        yield opened


@pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if one.id in ORDERED], ids=lambda one: one.id
)
async def test_pages_are_the_same(
    operation: Operation,
    store: Store,
    world: World,
    asker: httpx.AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill = FILL[operation.id]

    def add(db: Connection) -> None:
        """Add rows to the list, and other accounts before and after them."""
        people(db, SHORT // 4)
        fill.add(db, world, 3 * SHORT)
        people(db, SHORT // 4)

    async def pages() -> list[Any]:
        where = fill.path or path(operation, world)
        found = []
        for number in range(1, 12):
            answer = await asker.get(
                f"{where}?per_page=4&page={number}", headers=first(operation, world)
            )
            assert answer.status_code == 200, answer.text
            found.append((answer.json(), answer.headers.get("link")))
        return found

    store.write_sync(add)
    sorted_pages = await pages()
    monkeypatch.setattr(paging, "SORTED", SHORT)
    assert await pages() == sorted_pages
    assert sorted_pages[0] != sorted_pages[1] != sorted_pages[8], "the list is long"
