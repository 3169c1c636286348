"""The hooks of an organization, where they differ from the hooks of a repository."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, attempted, bodies, waiting
from bearer import by

from store import Row, Store
from store.accounts import accounts, apps
from store.delivery import outbox
from store.hooks import hook_queries
from store.repositories import repositories

HOOKS = "/orgs/acme/hooks"
CONFIG = {"url": "https://receiver.example/in", "content_type": "json", "secret": "s3cret"}


@pytest.fixture
def repo(store: Store, seed: Any) -> Row:
    """A private repository of the organization acme. octo owns acme, and reader is a member."""
    acme = store.write_sync(accounts.create, "acme", kind="Organization")
    store.write_sync(accounts.join, acme["id"], seed.octo["id"], "admin")
    store.write_sync(accounts.join, acme["id"], seed.reader["id"], "member")
    umbra = store.write_sync(accounts.create, "umbra", kind="Organization")
    store.write_sync(accounts.join, umbra["id"], seed.octo["id"], "admin")
    return store.write_sync(repositories.create, acme["id"], "engine", private=True)


@pytest.fixture
def owner(client: httpx.AsyncClient, store: Store, seed: Any, repo: Row) -> httpx.AsyncClient:
    client.headers.update(by(store, seed.octo, scopes=["admin:org_hook"]))
    return client


async def made(owner: httpx.AsyncClient, **members: Any) -> dict[str, Any]:
    answer = await owner.post(HOOKS, json={"name": "web", "config": CONFIG, **members})
    assert answer.status_code == 201, answer.text
    hook: dict[str, Any] = answer.json()
    return hook


async def test_a_new_hook_is_shown_and_pinged(owner: httpx.AsyncClient, store: Store) -> None:
    answer = await owner.post(HOOKS, json={"name": "web", "config": CONFIG})
    assert answer.status_code == 201
    hook = answer.json()
    assert answer.headers["Location"] == hook["url"] == f"{BASE}{HOOKS}/{hook['id']}"
    assert hook == {
        "type": "Organization",
        "id": hook["id"],
        "name": "web",
        "active": True,
        "events": ["push"],
        "config": {**CONFIG, "insecure_ssl": "0", "secret": "********"},
        "created_at": "2026-11-21T07:33:00Z",
        "updated_at": "2026-11-21T07:33:00Z",
        "url": hook["url"],
        "ping_url": f"{hook['url']}/pings",
        "deliveries_url": f"{hook['url']}/deliveries",
        "disabled_reason": None,
        "paused_at": None,
        "pause_reason": None,
        "certificate_ends_at": None,
        "handshake": None,
        "handshake_rate": None,
        "delivery": {},
    }
    (ping,) = bodies(store, "ping")
    assert ping["hook"] == hook
    assert ping["organization"]["login"] == "acme"
    assert ping["sender"]["login"] == "octo"
    assert "repository" not in ping
    assert (await owner.get(f"{HOOKS}/{hook['id']}")).json() == hook
    assert (await owner.get(HOOKS)).json() == [hook]
    assert (await owner.post(f"{HOOKS}/{hook['id']}/pings")).status_code == 204
    assert [row["name"] for row in waiting(store, hook["id"])] == ["ping", "ping"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"config": CONFIG}, "name"),
        ({"name": "cli", "config": CONFIG}, "web"),
        ({"name": "web"}, "config"),
        ({"name": "web", "config": {}}, "url"),
        ({"name": "web", "config": CONFIG, "events": ["installation"]}, "events"),
    ],
)
async def test_a_hook_without_a_needed_field_is_refused(
    owner: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    answer = await owner.post(HOOKS, json=body)
    assert_error(answer, 422)
    assert field in answer.text
    assert (await owner.get(HOOKS)).json() == []


async def test_only_an_organization_has_events_without_a_repository(
    owner: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    assert (await made(owner, events=["team", "push"]))["events"] == ["team", "push"]
    octo = by(store, seed.octo, scopes=["repo"])
    of_repository = {"config": CONFIG, "events": ["team"]}
    answer = await owner.post("/repos/octo/hello/hooks", json=of_repository, headers=octo)
    assert_error(answer, 422)


async def test_a_change_replaces_the_configuration(owner: httpx.AsyncClient, store: Store) -> None:
    hook = await made(owner)
    url = "https://other.example/"
    changed = {"config": {"url": url}, "events": ["team"], "active": False}
    answer = await owner.patch(f"{HOOKS}/{hook['id']}", json=changed)
    assert answer.status_code == 200
    config = {"url": url, "content_type": "form", "insecure_ssl": "0"}
    assert answer.json() | {"config": config, "events": ["team"], "active": False} == answer.json()
    place = f"{HOOKS}/{hook['id']}/config"
    assert (await owner.get(place)).json() == config
    answer = await owner.patch(place, json={"content_type": "json", "unknown": 1})
    assert answer.json() == {**config, "content_type": "json"}
    assert (await owner.delete(f"{HOOKS}/{hook['id']}")).status_code == 204
    assert (await owner.get(f"{HOOKS}/{hook['id']}")).status_code == 404


async def test_events_of_its_repositories_are_its_deliveries(
    owner: httpx.AsyncClient, store: Store, repo: Row, seed: Any
) -> None:
    hook = await made(owner, events=["*"])
    for repo_id in (repo["id"], seed.hello["id"]):
        store.write_sync(outbox.emit, "push", None, repo_id, {"ref": "refs/heads/main"})
    attempted(store, hook["id"])
    place = f"{HOOKS}/{hook['id']}/deliveries"
    push, ping = (await owner.get(place)).json()
    assert (push["event"], push["repository_id"]) == ("push", repo["id"])
    assert (ping["event"], ping["repository_id"]) == ("ping", None)
    whole = (await owner.get(f"{place}/{push['id']}")).json()
    assert whole["request"]["payload"] == {"ref": "refs/heads/main"}
    assert (await owner.post(f"{place}/{push['id']}/attempts")).status_code == 202
    again = waiting(store, hook["id"])[-1]
    assert (again["name"], again["repo_id"], again["redelivery"]) == ("push", repo["id"], 1)


async def test_a_change_of_the_organization_is_its_event(
    owner: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    hook = await made(owner, events=["issue_field"])
    octo = by(store, seed.octo, scopes=["admin:org"])
    field = {"name": "Effort", "data_type": "number"}
    answer = await owner.post("/orgs/acme/issue-fields", json=field, headers=octo)
    assert answer.is_success, answer.text
    assert [row["name"] for row in waiting(store, hook["id"])] == ["ping", "issue_field"]


async def test_the_deletion_of_a_hook_emits_a_meta_event(
    owner: httpx.AsyncClient, store: Store
) -> None:
    hook = await made(owner, events=["meta"])
    assert (await owner.delete(f"{HOOKS}/{hook['id']}")).status_code == 204
    (last,) = bodies(store, "meta")
    assert (last["action"], last["hook_id"]) == ("deleted", hook["id"])
    assert last["organization"]["login"] == "acme"
    assert store.read_sync(hook_queries.every) == []


async def test_a_hook_is_hidden_from_all_but_owners(
    owner: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    hook = await made(owner)
    of_another_organization = await owner.get(f"/orgs/umbra/hooks/{hook['id']}")
    member = by(store, seed.reader, scopes=["admin:org_hook"])
    hidden = await owner.get(f"{HOOKS}/{hook['id']}", headers=member)
    for answer in (of_another_organization, hidden, await owner.get(HOOKS, headers=member)):
        assert_error(answer, 404)
    other = by(store, seed.octo, scopes=["repo", "admin:org"])
    for path in (HOOKS, f"{HOOKS}/{hook['id']}", f"{HOOKS}/{hook['id']}/config"):
        assert_error(await owner.get(path, headers=other), 404)
    fine = {"kind": "fine_grained", "permissions": {"organization_hooks": "read"}}
    reads = by(store, seed.octo, **fine)
    assert (await owner.get(HOOKS, headers=reads)).status_code == 200
    assert_error(await owner.delete(f"{HOOKS}/{hook['id']}", headers=reads), 403)


def of_application(store: Store, account: Row, name: str) -> dict[str, str]:
    _, app = store.write_sync(apps.create, account["id"], name, url=f"https://{name}.example/")
    return by(store, account, kind="oauth", scopes=["admin:org_hook"], app_id=app["id"])


async def hook_ids(owner: httpx.AsyncClient, sent: dict[str, str]) -> list[int]:
    answer = await owner.get(HOOKS, headers=sent)
    assert answer.status_code == 200
    return [hook["id"] for hook in answer.json()]


async def test_an_oauth_application_sees_only_its_own_hooks(
    owner: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    mill, kiln = (of_application(store, seed.octo, name) for name in ("mill", "kiln"))
    users = (await made(owner))["id"]
    other = {"name": "web", "config": {**CONFIG, "url": "https://mill.example/in"}}
    answer = await owner.post(HOOKS, json=other, headers=mill)
    assert answer.status_code == 201
    own = answer.json()["id"]
    assert await hook_ids(owner, mill) == [own]
    assert await hook_ids(owner, kiln) == []
    assert await hook_ids(owner, {}) == [users]
    first = await owner.get(f"{HOOKS}?per_page=1")
    assert "Link" not in first.headers, "the number of pages counts hooks that are not listed"
    assert (await owner.get(f"{HOOKS}/{own}", headers=mill)).status_code == 200
    assert (await owner.get(f"{HOOKS}/{users}")).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("GET", "/config"),
        ("PATCH", "/config"),
        ("GET", "/deliveries"),
        ("GET", "/deliveries/{delivery}"),
        ("POST", "/deliveries/{delivery}/attempts"),
        ("POST", "/pings"),
        ("GET", "/events"),
        ("GET", "/keys"),
        ("POST", "/keys"),
        ("DELETE", "/keys/former"),
    ],
)
async def test_the_hook_of_an_oauth_application_is_hidden_from_other_tokens(
    owner: httpx.AsyncClient, store: Store, seed: Any, method: str, path: str
) -> None:
    mill, kiln = (of_application(store, seed.octo, name) for name in ("mill", "kiln"))
    body = {"name": "web", "config": CONFIG, "delivery": {"signatures": ["v1a"]}}
    hook = (await owner.post(HOOKS, json=body, headers=mill)).json()
    attempted(store, hook["id"])
    (delivery,) = (await owner.get(f"{HOOKS}/{hook['id']}/deliveries", headers=mill)).json()
    at = f"{HOOKS}/{hook['id']}" + path.format(delivery=delivery["id"])
    for other in ({}, kiln):
        answer = await owner.request(method, at, json={}, headers=other)
        assert_error(answer, 404)
    assert (await owner.request(method, at, json={}, headers=mill)).is_success


async def test_hooks_of_a_removed_oauth_application_belong_to_the_users(
    owner: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    mill = of_application(store, seed.octo, "mill")
    hook = (await owner.post(HOOKS, json={"name": "web", "config": CONFIG}, headers=mill)).json()
    assert await hook_ids(owner, {}) == []
    store.write_sync(lambda db: db.execute("DELETE FROM app WHERE name = 'mill'"))
    assert await hook_ids(owner, {}) == [hook["id"]]


async def test_a_filter_is_tested_with_events_of_the_organization(
    owner: httpx.AsyncClient, store: Store, repo: Row, seed: Any
) -> None:
    filter_ = {"ref": "refs/heads/main"}
    hook = await made(owner, events=["push", "team"], delivery={"filter": {"payload": filter_}})
    at = f"{HOOKS}/{hook['id']}/filter/tests"
    mine, alone, other = [
        store.write_sync(outbox.emit, name, None, repo_id, payload).event_id
        for name, repo_id, payload in (
            ("push", repo["id"], filter_),
            ("team", 0, {"organization": {"id": repo["owner_id"]}}),
            ("push", seed.hello["id"], filter_),
        )
    ]
    assert (await owner.post(at, json={"event_id": mine})).json()["matches"] is True
    assert (await owner.post(at, json={"event_id": alone})).json()["matches"] is False
    answer = await owner.post(at, json={"event_id": other})
    assert_error(answer, 422)
    assert "the organization has no event" in answer.text


async def test_the_signing_keys_of_a_hook_are_shown_and_rotated(owner: httpx.AsyncClient) -> None:
    hook = await made(owner, delivery={"signatures": ["v1a"]})
    at = f"{HOOKS}/{hook['id']}/keys"
    (first,) = (await owner.get(at)).json()["keys"]
    rotated = await owner.post(at, json={"overlap": 60})
    assert rotated.status_code == 201
    new, former = rotated.json()["keys"]
    assert former["public_key"] == first["public_key"] != new["public_key"]
    assert (await owner.delete(f"{at}/former")).status_code == 204
    assert (await owner.get(at)).json()["keys"] == [new]
