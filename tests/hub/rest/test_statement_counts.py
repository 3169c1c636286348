"""A page with many rows takes the same SQL statements as a page with few rows."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from assertions import BASE
from bulk_rows import FILL
from hub_client import open_client
from operations_world import World, first, make, path

from hub.operations import OPERATIONS
from hub.rest.operation import Operation
from hub.settings import HubSettings
from store import Store
from store.database.sqlite.connections import SqliteSession

PAGED = [one for one in OPERATIONS if one.pages is not None]
MANY = 100


@pytest.fixture(params=["sqlite"])
def url(request: pytest.FixtureRequest) -> str:
    """SQLite only, because the statements are the same on each engine."""
    return str(request.param)


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


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The SQL statements that the store runs, in order."""
    seen: list[str] = []
    run = SqliteSession.run

    def noting(self: SqliteSession, sql: str, parameters: Any) -> Any:
        seen.append(sql)
        return run(self, sql, parameters)

    monkeypatch.setattr(SqliteSession, "run", noting)
    return seen


def rows_of(answer: httpx.Response) -> list[Any]:
    """The list in a response: its content, or the only list in an object."""
    assert answer.status_code == 200, answer.text
    found = answer.json()
    if isinstance(found, dict):
        (found,) = [value for value in found.values() if isinstance(value, list)]
    return list(found)


@pytest.mark.parametrize("operation", PAGED, ids=lambda one: one.id)
async def test_a_page_of_many_takes_as_many_statements_as_one_of_few(
    operation: Operation, store: Store, world: World, asker: httpx.AsyncClient, ran: list[str]
) -> None:
    fill = FILL.get(operation.id)
    assert fill is not None, f"{operation.id} needs its line in FILL of tests/hub/bulk_rows.py"
    wanted = f"{fill.path or path(operation, world)}?per_page={operation.per_page[1]}"
    headers = first(operation, world)

    async def ask() -> tuple[int, list[str]]:
        await asker.get(wanted, headers=headers)
        ran.clear()
        found = rows_of(await asker.get(wanted, headers=headers))
        return len(found), [*ran]

    few, before = await ask()
    if few < fill.fewest:
        store.write_sync(fill.add, world, fill.fewest - few)
        few, before = await ask()
    assert few >= fill.fewest, "there are enough rows"
    store.write_sync(fill.add, world, MANY if fill.most is None else min(fill.most - 1, MANY))
    many, after = await ask()
    if fill.most is None or fill.most > 1:
        assert many >= min(MANY, operation.per_page[1], fill.most or MANY), "the list is filled"
    assert after == before


def test_nothing_is_filled_that_is_no_list() -> None:
    assert FILL.keys() <= {one.id for one in PAGED}
