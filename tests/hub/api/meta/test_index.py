"""`GET /`, redirects from the old paths of renamed repositories, and paths by number."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, links
from transactions import transaction

from store import Store
from store.accounts import tokens
from store.clock import MovableClock
from store.errors import Conflict, Invalid
from store.repositories import repositories

HOOKS = "/repos/octo/hello/hooks"
BODY = {"config": {"url": "https://receiver.example/in"}}


@pytest.mark.parametrize("path", [BASE, f"{BASE}/"])
async def test_the_index_lists_the_urls_of_the_api(client: httpx.AsyncClient, path: str) -> None:
    content = (await client.get(path)).json()
    assert content["rate_limit_url"] == f"{BASE}/rate_limit"
    assert content["repository_url"] == f"{BASE}/repos/{{owner}}/{{repo}}"
    assert content["authorizations_url"] == f"{BASE}/authorizations"
    assert content["hub_url"] == f"{BASE}/hub"
    assert all(url.startswith("https://forge.example/") for url in content.values())
    answer = await client.get(path, headers={"X-Service-Api-Version": "2026-03-10"})
    assert content.keys() - answer.json().keys() == {"authorizations_url", "hub_url"}
    del client.headers["Authorization"]
    assert (await client.get(path)).status_code == 200


async def test_head_has_the_headers_of_get(client: httpx.AsyncClient) -> None:
    for path in ("/", "/versions", "/rate_limit", HOOKS):
        get, head = await client.get(path), await client.head(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["Content-Length"] == get.headers["Content-Length"]
        assert head.headers.get("ETag") == get.headers.get("ETag")


@pytest.fixture
def renamed(store: Store, seed: Any) -> None:
    """Rename octo/hello to octo/bonjour, and octo/vault to octo/safe."""

    with transaction(store) as db:
        repositories.rename(db, seed.hello, "bonjour")
        repositories.rename(db, seed.vault, "safe")


@pytest.mark.usefixtures("renamed")
async def test_an_old_name_leads_on(client: httpx.AsyncClient, seed: Any) -> None:
    number = seed.hello["id"]
    for method in ("GET", "HEAD"):
        answer = await client.request(method, f"{HOOKS}?per_page=2&x=%2F")
        url = f"{BASE}/repositories/{number}/hooks?per_page=2&x=%2F"
        assert (answer.status_code, answer.headers["Location"]) == (301, url)
    content = (await client.get(f"{HOOKS}?per_page=2&x=%2F")).json()
    assert content == {
        "message": "Moved Permanently",
        "url": url,
        "documentation_url": f"{BASE}/docs/reference/operations#repos-list-webhooks",
    }
    assert (await client.get(url)).status_code == 200
    answer = await client.post("/repos/OCTO/Hello/hooks", json=BODY)
    assert answer.status_code == 307
    assert answer.headers["Location"] == f"{BASE}/repositories/{number}/hooks"
    client.follow_redirects = True
    hook = (await client.post(HOOKS, json=BODY)).json()
    assert hook["url"] == f"{BASE}/repos/octo/bonjour/hooks/{hook['id']}"
    assert (await client.get(f"{HOOKS}/{hook['id']}")).json() == hook
    assert (await client.get("/repos/octo/bonjour/hooks")).json() == [hook]


@pytest.mark.usefixtures("renamed")
async def test_the_old_name_of_a_private_repository_is_not_found(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    small, _ = store.write_sync(
        lambda db: tokens.create(db, seed.octo["id"], scopes=["public_repo"])
    )
    for token in (seed.reader_token, small):
        header = {"Authorization": f"token {token}"}
        for path in ("/repos/octo/vault/hooks", "/repos/octo/safe/hooks", "/repos/octo/no/hooks"):
            assert_error(await client.get(path, headers=header), 404, "Not Found")
        # octo/hello is public. Its old path redirects even if the new path then refuses the user.
        assert (await client.get(HOOKS, headers=header)).status_code == 301
    assert (await client.get("/repos/octo/vault/hooks")).status_code == 301
    del client.headers["Authorization"]
    assert_error(await client.get("/repos/octo/vault/license"), 404, "Not Found")
    assert (await client.get("/repos/octo/hello/license")).status_code == 301


@pytest.mark.usefixtures("renamed")
async def test_a_reused_name_leads_to_the_new_repository(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    again = store.write_sync(lambda db: repositories.create(db, seed.octo["id"], "hello"))
    assert (await client.get(HOOKS)).json() == []
    store.write_sync(repositories.rename, again, "third")
    answer = await client.get(HOOKS)
    assert f"/repositories/{again['id']}/" in answer.headers["Location"]


def test_a_repository_is_renamed(store: Store, seed: Any) -> None:
    with pytest.raises(Conflict):
        store.write_sync(repositories.rename, seed.hello, "Vault")
    with pytest.raises(Invalid):
        store.write_sync(repositories.rename, seed.hello, "a/b")
    assert store.write_sync(repositories.rename, seed.hello, "Hello")["full_name"] == "octo/Hello"
    back = store.write_sync(repositories.rename, seed.hello, "other")
    back = store.write_sync(repositories.rename, back, "hello")
    assert store.read_sync(repositories.by_former_name, "octo", "hello") is None
    found = store.read_sync(repositories.by_former_name, "Octo", "OTHER")
    assert found is not None
    assert found["id"] == back["id"]


async def test_a_repository_s_paths_work_by_its_number(
    client: httpx.AsyncClient, seed: Any
) -> None:
    path = f"/repositories/{seed.hello['id']}/hooks"
    for number in range(3):
        config = {"url": f"https://receiver.example/{number}"}
        assert (await client.post(path, json={"config": config})).status_code == 201
    answer = await client.get(path, params={"per_page": 1})
    assert links(answer)["next"] == f"{BASE}{path}?per_page=1&page=2"
    for wrong in ("0", "x", "9" * 30, "octo"):
        assert_error(await client.get(f"/repositories/{wrong}/hooks"), 404, "Not Found")
    reader = {"Authorization": f"token {seed.reader_token}"}
    hidden = f"/repositories/{seed.vault['id']}/hooks"
    assert_error(await client.get(hidden, headers=reader), 404, "Not Found")


async def test_the_server_describes_itself(client: httpx.AsyncClient) -> None:
    assert (await client.get("/meta")).json() == {"verifiable_password_authentication": True}


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("text/plain", 200),
        ("text/*", 200),
        ("text/plain; charset=utf-8", 200),
        ("application/json", 200),
        ("text/plain;q=0", 415),
        ("image/png", 415),
    ],
)
async def test_zen_is_plain_text(client: httpx.AsyncClient, accept: str, status: int) -> None:
    answer = await client.get("/zen", headers={"Accept": accept})
    assert answer.status_code == status


async def test_zen_has_a_sentence_for_each_day(
    client: httpx.AsyncClient, clock: MovableClock
) -> None:
    answer = await client.get("/zen")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.text.endswith(".")
    assert (await client.get("/zen")).text == answer.text
    clock.advance(86_400)
    assert (await client.get("/zen")).text != answer.text
