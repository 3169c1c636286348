"""Each operation in a repository needs a permission of the installation and its selection."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from assertions import BASE
from engines import ENGINES, engine_url, open_furnished
from hub_client import open_client
from operations_world import path
from seed import make

from hub.auth.repository_access import OnRepo
from hub.operations import OPERATIONS
from hub.rest.operation import Operation
from hub.settings import HubSettings

from .conftest import Installed, install

IN_REPOSITORIES = [one for one in OPERATIONS if isinstance(one.access, OnRepo)]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", params=ENGINES)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with engine_url(request.param) as named:
        yield named


@pytest.fixture(scope="module")
async def installed(
    anyio_backend: str, url: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Installed]:
    """One world for all tests, because a refused request changes nothing in it."""
    store = open_furnished(url, tmp_path_factory.mktemp("installed"))
    seed = store.write_sync(make)
    async with open_client(store, HubSettings(base_url=BASE, rate_limiting=False)) as hub:
        yield install(store, seed, hub)
    store.shut()


class Names:
    """Values for the parameters of any path. The names and ids do not exist."""

    def __getattr__(self, name: str) -> Any:
        return self

    def __getitem__(self, name: str) -> int:
        return 1

    def __add__(self, number: int) -> int:
        return 1 + number

    def __str__(self) -> str:
        return "1"


@pytest.mark.parametrize("operation", IN_REPOSITORIES, ids=lambda one: one.id)
async def test_each_operation_needs_its_permission_and_the_selection(
    installed: Installed, operation: Operation
) -> None:
    """The token lacks either the permission or access to the repository."""

    def at(owner: str, repo: str) -> str:
        return path(operation, Names(), owner=owner, repo=repo)  # type: ignore[arg-type] # no rows

    bare = installed.token(wanted={"metadata": "read"})
    wanted = [name for name, _ in operation.access.permissions]
    for repo in ("tools", "kit") if "metadata" not in wanted else ():
        answer = await installed.ask(operation.method, at("acme", repo), bare)
        assert answer.status_code == 403, answer.text
        assert answer.json()["message"] == "Resource not accessible by integration"
    narrow = installed.token(repositories=[installed.kit["id"]])
    for owner, repo in (("acme", "tools"), ("octo", "hello"), ("octo", "vault")):
        answer = await installed.ask(operation.method, at(owner, repo), narrow)
        # If no installation may call the operation, the hub responds with 403 before it looks
        # for the repository.
        wanted_status = 404 if "installation" in operation.access.kinds else 403
        assert answer.status_code == wanted_status, answer.text
