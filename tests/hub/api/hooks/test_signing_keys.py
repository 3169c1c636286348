"""Signing keys through the API: asked for, shown, rotated, and published for receivers."""

from typing import Any

import httpx
import pytest
from assertions import assert_error

from store import Store
from store.clock import HOUR, MovableClock, iso
from store.crypto import ed25519
from store.hooks import hooks, signing_keys

HOOKS = "/repos/octo/hello/hooks"
KEY = ed25519.write_private(bytes(range(32)))
PUBLIC = "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="


async def made(client: httpx.AsyncClient, *signatures: str) -> dict[str, Any]:
    body = {"config": {"url": "https://receiver.example/in"}}
    answer = await client.post(HOOKS, json={**body, "delivery": {"signatures": [*signatures]}})
    assert answer.status_code == 201, answer.text
    hook: dict[str, Any] = answer.json()
    return hook


async def test_the_public_key_of_a_hook_is_published(client: httpx.AsyncClient) -> None:
    hook = await made(client, "v1a", "v1", "v1a")
    assert hook["delivery"] == {"signatures": ["v1a", "v1"]}
    found = (await client.get(f"{hook['url']}/keys")).json()
    (key,) = found["keys"]
    assert key["public_key"].startswith("whpk_")
    assert key["ends_at"] is None
    answer = await client.get(found["keys_url"], headers={"Authorization": ""})
    assert answer.json() == {"keys": [key["jwk"]]}
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "max-age" in answer.headers["cache-control"]


async def test_a_hook_without_a_key_lists_none(client: httpx.AsyncClient) -> None:
    hook = await made(client, "sha256")
    answer = await client.get(f"{hook['url']}/keys")
    assert answer.json() == {"keys_url": None, "keys": []}


@pytest.mark.parametrize("given", [["v2"], [], "v1"])
async def test_unknown_signatures_are_rejected(client: httpx.AsyncClient, given: Any) -> None:
    body = {"config": {"url": "https://receiver.example/in"}, "delivery": {"signatures": given}}
    assert_error(await client.post(HOOKS, json=body), 422)


async def test_the_signing_key_is_rotated(client: httpx.AsyncClient, clock: MovableClock) -> None:
    hook = await made(client, "v1a")
    (old,) = (await client.get(f"{hook['url']}/keys")).json()["keys"]
    answer = await client.post(
        f"{hook['url']}/keys", json={"private_key": KEY, "overlap": HOUR // 1_000_000}
    )
    assert answer.status_code == 201
    new, former = answer.json()["keys"]
    assert (new["public_key"], former["public_key"]) == (PUBLIC, old["public_key"])
    assert former["ends_at"] == iso(clock.now() + HOUR)
    published = (await client.get(answer.json()["keys_url"])).json()["keys"]
    assert published == [new["jwk"], old["jwk"]]
    assert (await client.delete(f"{hook['url']}/keys/former")).status_code == 204
    assert (await client.get(answer.json()["keys_url"])).json()["keys"] == [new["jwk"]]


async def test_no_answer_has_the_private_part(client: httpx.AsyncClient, store: Store) -> None:
    hook = await made(client, "v1a")
    answer = await client.post(f"{hook['url']}/keys", json={"private_key": KEY})
    answers = [answer, await client.get(hook["url"]), await client.get(answer.json()["keys_url"])]
    assert all(KEY not in one.text and "whsk_" not in one.text for one in answers)
    found = store.read_sync(signing_keys.private_keys, hook["id"])
    assert found[0].seed == bytes(range(32))


async def test_invalid_signing_keys_are_rejected(client: httpx.AsyncClient) -> None:
    hook = await made(client, "v1a")
    for body in ({"private_key": "whsk_AAEC"}, {"overlap": 8 * 86_400}, {"overlap": -1}):
        assert_error(await client.post(f"{hook['url']}/keys", json=body), 422)


async def test_key_sets_of_unknown_and_removed_hooks_are_not_found(
    client: httpx.AsyncClient, store: Store
) -> None:
    hook = await made(client, "v1a")
    at = store.read_sync(lambda db: (hooks.by_id(db, hook["id"]) or {})["key_set"])
    assert (await client.get(f"/.well-known/webhook-keys/{at}")).status_code == 200
    for name in ("nothing", "%00", f"{at}%00"):
        assert (await client.get(f"/.well-known/webhook-keys/{name}")).status_code == 404
    assert (await client.delete(hook["url"])).status_code == 204
    assert (await client.get(f"/.well-known/webhook-keys/{at}")).status_code == 404
