"""Rules for every path: routing, the shape of errors, and no internal details."""

import logging
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error
from bearer import bearer

from hub.app import create_app
from hub.ingest import hook_events
from hub.settings import HubSettings
from store import Store

ORIGIN = "https://forge.example"
HOOKS = "/repos/octo/hello/hooks"


async def test_a_new_hub_is_healthy(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"{ORIGIN}/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    answer = await client.head(f"{ORIGIN}/healthz")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["Content-Length"] == "15"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/nothing"),
        ("GET", f"{HOOKS}/"),
        ("GET", f"/{HOOKS}"),
        ("PUT", HOOKS),
        ("DELETE", HOOKS),
        ("BREW", HOOKS),
        ("OPTIONS", "/nothing"),
        ("GET", "/hub"),
        ("POST", "/hub/"),
        ("GET", "/octo/hello/events/push"),
        ("GET", "/repos/octo%2Fhello/hooks"),
        ("GET", "/repos//hello/hooks"),
        ("GET", "/repos/octo/hello%00/hooks"),
        ("GET", f"{ORIGIN}/repos/octo/hello/hooks"),
        ("GET", "/repos/" + "x/" * 500),
    ],
)
async def test_paths_and_methods_that_are_not_there(
    client: httpx.AsyncClient, method: str, path: str
) -> None:
    assert_error(await client.request(method, path), 404, "Not Found")


async def test_an_encoded_name_is_the_same_name(client: httpx.AsyncClient) -> None:
    assert (await client.get("/repos/oct%6F/hello/hooks")).status_code == 200


async def test_head_is_get_without_the_body(client: httpx.AsyncClient) -> None:
    answer = await client.head(HOOKS)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["Content-Length"] == "2"


async def test_an_internal_error_is_logged_and_not_shown(
    client: httpx.AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the secret of the house")

    monkeypatch.setattr(hook_events.attempts, "last_responses", broken)
    with caplog.at_level(logging.ERROR):
        answer = await client.get(HOOKS)
    content = assert_error(answer, 500)
    assert "secret" not in answer.text
    request_id = answer.headers["X-Service-Request-Id"]
    assert request_id in content["message"]
    assert request_id in caplog.text
    assert "the secret of the house" in caplog.text


async def test_urls_without_a_base_url_name_the_bound_address(store: Store, seed: Any) -> None:
    async def judge(url: str) -> None: ...

    app = create_app(store, HubSettings(host="::1", port=80), judge)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://[::1]:80", headers=bearer(seed.token)
    ) as client:
        body = {"config": {"url": "https://receiver.example/in"}}
        hook = (await client.post(HOOKS, json=body)).json()
        assert hook["url"] == f"http://[::1]:80{HOOKS}/{hook['id']}"
        assert (await client.post("/octo/hello/events/push", json={})).status_code == 202
    await store.close()


@pytest.mark.parametrize("url", ["forge.example", "ftp://x", "https://x/?a", "https://x/#a"])
def test_a_wrong_base_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="must"):
        HubSettings(base_url=url)


def test_every_setting_is_described() -> None:
    for name, field in HubSettings.model_fields.items():
        assert field.description, name


def test_links_are_built_in_one_place() -> None:
    allowed = {"urls.py", "settings.py"}
    for path in Path(str(create_app.__code__.co_filename)).parent.glob("**/*.py"):
        if "cli" not in path.parts and path.name not in allowed:
            assert not re.search(r'f?"https?://\{', path.read_text()), path
    assert BASE.startswith("https://")
