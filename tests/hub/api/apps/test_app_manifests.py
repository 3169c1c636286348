"""Apps that are created from manifests."""

import logging
from typing import Any

import jwt
import pytest
from assertions import assert_error, waiting
from hub_client import open_client

from hub.http.secret_paths import shown_path
from hub.operations import OPERATIONS
from hub.rest.resolve import PARAMETER
from hub.settings import HubSettings
from store import Store
from store.apps import app_hooks, app_manifests
from store.clock import SECOND, MovableClock
from store.errors import Invalid
from store.hooks import hooks

from .conftest import Installed

MANIFEST = {
    "name": "Kettle",
    "url": "https://kettle.example/",
    "public": False,
    "default_permissions": {"issues": "write"},
    "default_events": ["issues"],
    "redirect_url": "https://kettle.example/made",
    "hook_attributes": {"url": "https://kettle.example/hook"},
}


async def test_a_code_becomes_an_app_once(installed: Installed, store: Store, seed: Any) -> None:
    code = store.write_sync(app_manifests.create, seed.octo["id"], MANIFEST)
    path = f"/app-manifests/{code}/conversions"
    made = await installed.hub.post(path)
    assert made.status_code == 201
    shown = made.json()
    assert (shown["slug"], shown["owner"]["login"]) == ("kettle", "octo")
    assert (shown["permissions"], shown["events"]) == ({"issues": "write"}, ["issues"])
    now = store.clock.now() // SECOND
    claims = {"iss": shown["client_id"], "iat": now, "exp": now + 60}
    token = jwt.encode(claims, shown["pem"], algorithm="RS256")
    itself = await installed.ask("GET", "/app", token)
    assert itself.json()["id"] == shown["id"]
    assert_error(await installed.hub.post(path), 404)
    assert_error(await installed.hub.get("/apps/kettle"), 404)
    config = await installed.ask("GET", "/app/hook/config", token)
    assert config.json()["url"] == "https://kettle.example/hook"
    hook = store.read_sync(app_hooks.of, shown["id"])
    assert store.read_sync(hooks.secret_of, hook) == shown["webhook_secret"]
    assert [row["name"] for row in waiting(store, hook["id"])] == ["ping"]


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_a_code_is_in_no_log(
    store: Store, seed: Any, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    code = store.write_sync(app_manifests.create, seed.octo["id"], MANIFEST)
    caplog.set_level(logging.INFO, "tocsin.access")
    async with open_client(store, HubSettings(access_log=True)) as client:
        client.event_hooks = {}
        await client.request(method, f"/app-manifests/{code}/conversions")
    (line,) = [one for one in caplog.records if one.name == "tocsin.access"]
    assert line.getMessage().startswith(f"{method} /app-manifests/{{code}}/conversions: ")
    assert code not in repr(vars(line))
    entries = store.read_sync(lambda db: db.all("SELECT target FROM audit"))
    assert bool(entries) == (method == "POST")
    assert code not in repr(entries)


def test_a_path_that_alone_gives_access_is_hidden() -> None:
    secret = [one for one in OPERATIONS if one.access.credentials == "none"]
    assert secret
    for operation in secret:
        path = PARAMETER.sub("hidden-value", operation.path)
        assert shown_path({"path": path}) == operation.path


@pytest.mark.parametrize("start", ["//app-manifests//", "/App-Manifests/", "/app-manifests///"])
def test_a_code_is_hidden_in_a_path_with_mistakes(start: str) -> None:
    shown = shown_path({"path": f"{start}hidden-value/conversions"})
    assert shown == f"{start}{{code}}/conversions"


@pytest.mark.parametrize("attributes", [{}, {"url": "https://kettle.example/", "active": False}])
async def test_a_manifest_without_an_active_hook_makes_none(
    installed: Installed, store: Store, seed: Any, attributes: dict[str, Any]
) -> None:
    wanted = MANIFEST | {"hook_attributes": attributes}
    code = store.write_sync(app_manifests.create, seed.octo["id"], wanted)
    made = (await installed.hub.post(f"/app-manifests/{code}/conversions")).json()
    assert made["webhook_secret"] is None
    assert store.read_sync(app_hooks.of, made["id"]) is None


async def test_expired_and_unknown_codes_are_not_found(
    installed: Installed, store: Store, seed: Any, clock: MovableClock
) -> None:
    late = store.write_sync(app_manifests.create, seed.octo["id"], MANIFEST)
    clock.advance(3600)
    for code in (late, "x", "%00", late.upper()):
        assert_error(await installed.hub.post(f"/app-manifests/{code}/conversions"), 404)


async def test_a_code_of_a_fast_clock_is_not_found(
    installed: Installed, store: Store, seed: Any, clock: MovableClock
) -> None:
    clock.advance(86_400)
    code = store.write_sync(app_manifests.create, seed.octo["id"], MANIFEST)
    clock.advance(-86_400)
    assert_error(await installed.hub.post(f"/app-manifests/{code}/conversions"), 404)


async def test_a_name_in_use_is_refused(installed: Installed, store: Store, seed: Any) -> None:
    wanted = MANIFEST | {"name": "MILL"}
    code = store.write_sync(app_manifests.create, seed.octo["id"], wanted)
    for _ in range(2):
        answer = await installed.hub.post(f"/app-manifests/{code}/conversions")
        assert_error(answer, 422)


@pytest.mark.parametrize(
    "changed",
    [
        {"name": None},
        {"name": 1},
        {"url": None},
        {"url": "kettle"},
        {"hook_attributes": {"url": "kettle"}},
        {"hook_attributes": "kettle"},
        {"public": "no"},
        {"default_permissions": {"issues": "all"}},
        {"default_permissions": {"issues": 1}},
        {"default_permissions": []},
        {"default_events": "push"},
        {"default_events": [1]},
        {"default_events": ["no event"]},
    ],
)
def test_a_wrong_manifest_is_refused(store: Store, seed: Any, changed: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        store.write_sync(app_manifests.create, seed.octo["id"], MANIFEST | changed)
