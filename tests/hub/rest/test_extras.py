"""Without the extras of the package, an operation that needs one says which, and all others work.

The tests have the extras, so their packages are hidden from it.
"""

import asyncio
import sys
from typing import Any

import httpx
import pytest
from assertions import assert_error

from hub.cli.http_server.event_loop import new_event_loop
from hub.rest.repository_serializers import license_simple
from hub.rest.urls import Urls
from store.errors import NotInstalled
from store.repositories import license_catalog
from store.repositories.licenses import LicenseFile

KEY = "/repos/octo/hello/devenvs/secrets/public-key"


def hide(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Have imports of these packages fail, as if they were not installed."""
    for name in [one for one in sys.modules if one.partition(".")[0] in packages]:
        monkeypatch.delitem(sys.modules, name)
    for name in packages:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture
def without_licenses(monkeypatch: pytest.MonkeyPatch) -> Any:
    hide(monkeypatch, "pychoosealicense", "licenseclassifier")
    license_catalog.list_all.cache_clear()
    yield
    license_catalog.list_all.cache_clear()


@pytest.mark.usefixtures("without_licenses")
@pytest.mark.parametrize("path", ["/licenses", "/licenses/mit"])
async def test_licenses(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    said = "the catalog of licenses needs the extra 'licenses': install it with pip install"
    assert assert_error(answer, 501)["message"].startswith(said)
    assert answer.json()["documentation_url"].endswith("/reference/errors#not-installed")


@pytest.mark.usefixtures("without_licenses")
def test_a_license_file() -> None:
    with pytest.raises(NotInstalled, match=r"pip install '.\[licenses\]'"):
        LicenseFile("LICENSE", b"Do as you like with it.")


def test_a_license_that_was_recognized_before(request: pytest.FixtureRequest) -> None:
    urls = Urls("https://forge.example")
    assert license_simple(urls, "isc")["key"] == "isc"
    request.getfixturevalue("without_licenses")
    assert license_simple(urls, "isc")["key"] == license_catalog.OTHER


async def test_sealed_secrets(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "nacl")
    content = assert_error(await client.get(KEY), 501)
    assert "needs the extra 'sealed-secrets'" in content["message"]


def test_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        assert "uvloop" in type(runner.get_loop()).__module__
    hide(monkeypatch, "uvloop")
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        assert "asyncio" in type(runner.get_loop()).__module__
