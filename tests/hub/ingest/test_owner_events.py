"""Events that only owners or administrators may send with a token."""

from typing import Any

import httpx
import orjson
import pytest
from assertions import assert_error, waiting
from required import required
from statement_log import statements

from store import Connection, Row, Store
from store.accounts import accounts, apps, grants, tokens
from store.apps import installation_tokens, installations
from store.hooks import hooks
from store.hooks.event_names import OF_ADMINISTRATORS
from store.hooks.hook_targets import SYSTEM, organization
from store.repositories import repositories

KIND = {"Content-Type": "application/x-ndjson"}
OF_NO_REPOSITORY = ["membership", "installation", "sponsorship", "security_advisory"]
FOREIGN_ID = 3081286
RIGHTS = ({"contents": "write"}, {"contents": "write", "administration": "write"})
"""The permissions of a token that may push, and of one that may change the repository, too."""


@pytest.fixture
def tools(store: Store, seed: Any) -> dict[str, Any]:
    """The repository acme/tools, formerly acme/kit, beside acme/prod."""

    def prepare(db: Connection) -> dict[str, Any]:
        acme = accounts.create(db, "acme", kind="Organization")
        repositories.create(db, acme["id"], "prod", private=True)
        return repositories.rename(db, repositories.create(db, acme["id"], "kit"), "tools")

    return store.write_sync(prepare)


@pytest.fixture
def made(store: Store, tools: dict[str, Any]) -> list[int]:
    """The ids of hooks for all events: of acme, and of the installation."""
    url = "https://receiver.example/"
    targets = [organization(tools["owner_id"]), SYSTEM]
    return [store.write_sync(hooks.create, one, url=url, events=["*"])["id"] for one in targets]


def token(store: Store, tools: dict[str, Any], who: str) -> str:
    def prepare(db: Connection) -> str:
        account = accounts.create(db, "amy", site_admin=who == "site administrator")
        if who == "owner":
            accounts.join(db, tools["owner_id"], account["id"], "admin")
        elif who != "site administrator":
            repositories.grant(db, tools["id"], account["id"], who)
        return tokens.create(db, account["id"], scopes=["repo"])[0]

    return store.write_sync(prepare)


async def post(
    client: httpx.AsyncClient, value: str, name: str, payload: dict[str, Any], *, batch: bool
) -> httpx.Response:
    headers = {"Authorization": f"Bearer {value}"}
    if not batch:
        return await client.post(f"/acme/tools/events/{name}", json=payload, headers=headers)
    line = orjson.dumps({"event": name, "repository": "acme/tools", "payload": payload})
    return await client.post("/events", content=line, headers=headers | KIND)


def got(store: Store, hook_ids: list[int]) -> list[list[str]]:
    return [[row["name"] for row in waiting(store, hook_id)] for hook_id in hook_ids]


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("who", ["write", "admin"])
async def test_others_send_only_events_of_the_repository(
    client: httpx.AsyncClient,
    store: Store,
    tools: dict[str, Any],
    made: list[int],
    who: str,
    batch: bool,
) -> None:
    value = token(store, tools, who)
    for name in OF_NO_REPOSITORY:
        answer = await post(client, value, name, {"installation": {"id": 1}}, batch=batch)
        assert "Only an owner of acme" in assert_text(answer, 422 if batch else 403)
    assert got(store, made) == [[], []]
    assert (await post(client, value, "push", {}, batch=batch)).status_code == 202
    assert got(store, made) == [["push"], ["push"]]


def assert_text(answer: httpx.Response, status: int) -> str:
    assert_error(answer, status)
    return answer.text


def of_administrators() -> list[tuple[str, dict[str, Any]]]:
    named: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in sorted(OF_ADMINISTRATORS)]
    deleted = [(name, {"action": "deleted"}) for name in ("issues", "pull_request")]
    assert "repository_advisory" in OF_ADMINISTRATORS
    return [*named, *deleted, ("push", {"rule_suite": {"id": 1, "result": "pass"}})]


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("who", ["maintain", "admin"])
async def test_only_administrators_send_events_of_administration(
    client: httpx.AsyncClient,
    store: Store,
    tools: dict[str, Any],
    made: list[int],
    who: str,
    batch: bool,
) -> None:
    value, sent = token(store, tools, who), of_administrators()
    for name, payload in sent:
        answer = await post(client, value, name, payload, batch=batch)
        if who == "admin":
            assert answer.status_code == 202
        else:
            refused = assert_text(answer, 422 if batch else 403)
            assert "Only an administrator of the repository" in refused
    names = [name for name, _ in sent] if who == "admin" else []
    assert got(store, made) == [names, names]


async def test_a_batch_checks_the_right_to_a_repository_once(
    client: httpx.AsyncClient,
    store: Store,
    tools: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    headers = {"Authorization": f"Bearer {token(store, tools, 'write')}"} | KIND
    line = orjson.dumps({"event": "member", "repository": "acme/tools", "payload": {}})
    asked = statements(monkeypatch)
    counts = []
    for many in (1, 1, 20):
        before = len(asked)
        answer = await client.post("/events", content=b"\n".join([line] * many), headers=headers)
        assert_error(answer, 422)
        counts.append(len(asked) - before)
    assert counts[2] == counts[1]


@pytest.mark.parametrize("who", ["write", "admin"])
async def test_a_batch_asks_for_the_right_to_each_repository(
    client: httpx.AsyncClient, store: Store, tools: dict[str, Any], who: str
) -> None:
    """The caller administers acme/tools, and has another role in acme/prod."""

    def prepare(db: Connection) -> str:
        ada = accounts.create(db, "ada")
        prod = required(repositories.find(db, "acme", "prod"))
        for repo_id, role in ((tools["id"], "admin"), (prod["id"], who)):
            repositories.grant(db, repo_id, ada["id"], role)
        return tokens.create(db, ada["id"], scopes=["repo"])[0]

    value = store.write_sync(prepare)
    sent = [("member", "tools"), ("member", "prod"), ("push", "prod"), ("public", "tools")]
    lines = (
        orjson.dumps({"event": name, "repository": f"acme/{repo}", "payload": {}})
        for name, repo in sent
    )
    headers = {"Authorization": f"Bearer {value}"} | KIND
    answer = await client.post("/events", content=b"\n".join(lines), headers=headers)
    if who == "admin":
        assert answer.json()["accepted"] == len(sent)
    else:
        assert_error(answer, 422)
        assert [one["index"] for one in answer.json()["errors"]] == [2]


@pytest.mark.parametrize("holder", ["user", "owner", "owner's app", "installation"])
async def test_a_token_with_permissions_needs_the_one_of_the_change(
    client: httpx.AsyncClient, store: Store, tools: dict[str, Any], holder: str
) -> None:
    make = {
        "user": tokens_of_user,
        "owner": tokens_of_owner,
        "owner's app": tokens_of_owner_s_app,
        "installation": tokens_of_installation,
    }[holder]
    pushing, administering = store.write_sync(make, tools)
    assert_error(await post(client, pushing, "member", {}, batch=False), 403)
    assert (await post(client, administering, "member", {}, batch=False)).status_code == 202


def tokens_of_user(db: Connection, tools: dict[str, Any]) -> list[str]:
    ada = accounts.create(db, "ada")
    repositories.grant(db, tools["id"], ada["id"], "admin")
    return [
        tokens.create(db, ada["id"], kind="fine_grained", permissions=each)[0] for each in RIGHTS
    ]


def owner_of(db: Connection, tools: dict[str, Any]) -> int:
    amy: int = accounts.create(db, "amy")["id"]
    accounts.join(db, tools["owner_id"], amy, "admin")
    return amy


def tokens_of_owner(db: Connection, tools: dict[str, Any]) -> list[str]:
    amy = owner_of(db, tools)
    return [tokens.create(db, amy, kind="fine_grained", permissions=each)[0] for each in RIGHTS]


def tokens_of_owner_s_app(db: Connection, tools: dict[str, Any]) -> list[str]:
    amy, (app, _) = owner_of(db, tools), installed(db)
    return [grants.issue(db, app, amy, permissions=each)[0] for each in RIGHTS]


def tokens_of_installation(db: Connection, tools: dict[str, Any]) -> list[str]:
    _, made = installed(db)
    return [installation_tokens.create(db, made, wanted=each)[0] for each in RIGHTS]


def installed(db: Connection) -> tuple[Row, Row]:
    """An app of acme that may administer, and its installation on all repositories of acme."""
    acme = required(accounts.by_login(db, "acme"))
    given: dict[str, Any] = {"kind": "integration", "permissions": RIGHTS[1]}
    _, app = apps.create(db, acme["id"], "Mill", url="https://mill.example/", **given)
    return app, installations.create(db, app, acme)


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("who", ["owner", "site administrator"])
async def test_owners_send_every_event(
    client: httpx.AsyncClient, store: Store, tools: dict[str, Any], who: str, batch: bool
) -> None:
    value = token(store, tools, who)
    prod = {"repository": {"full_name": "acme/prod"}}
    for name in [*OF_NO_REPOSITORY, "push"]:
        assert (await post(client, value, name, prod, batch=batch)).status_code == 202


@pytest.mark.parametrize("batch", [False, True])
async def test_others_name_no_other_repository_of_the_owner(
    client: httpx.AsyncClient, store: Store, tools: dict[str, Any], made: list[int], batch: bool
) -> None:
    value = token(store, tools, "write")

    async def name(full_name: Any, **members: Any) -> httpx.Response:
        payload = {"repository": {"full_name": full_name, **members}}
        return await post(client, value, "push", payload, batch=batch)

    # Without an id that the platform gave the repository, no id is its own.
    answers = [
        await name(each, **member)
        for each in ("acme/prod", "ACME/Prod", "acme/unknown", "acme/no\0ne")
        for member in ({}, {"id": None}, {"id": FOREIGN_ID})
    ]
    assert len({assert_text(one, 422) for one in answers}) == 1, "it reveals no repository"
    assert got(store, made) == [[], []]
    for accepted in ("Acme/Tools", "acme/KIT", "octo/hello", "nobody/prod", "prod", None, 7):
        assert (await name(accepted)).status_code == 202

    def learn(db: Connection) -> None:
        db.execute(
            "UPDATE repository SET foreign_id = :foreign_id WHERE id = :id",
            foreign_id=FOREIGN_ID,
            id=tools["id"],
        )

    store.write_sync(learn)
    assert (await name("acme/instruments", id=FOREIGN_ID)).status_code == 202, "just renamed"
    for wrong in ({}, {"id": FOREIGN_ID + 1}, {"id": str(FOREIGN_ID)}):
        assert_error(await name("acme/instruments", **wrong), 422)


async def test_limited_tokens_of_owners_send_only_events_of_the_repository(
    client: httpx.AsyncClient, store: Store, tools: dict[str, Any]
) -> None:
    def prepare(db: Connection) -> list[str]:
        owner = accounts.create(db, "amy")
        accounts.join(db, tools["owner_id"], owner["id"], "admin")
        limits = [[tools["id"]], None]
        rights: dict[str, Any] = {"kind": "fine_grained", "permissions": {"contents": "write"}}
        rights["target_id"] = tools["owner_id"]
        return [tokens.create(db, owner["id"], repositories=one, **rights)[0] for one in limits]

    limited, whole = store.write_sync(prepare)
    assert_error(await post(client, limited, "team", {}, batch=False), 403)
    assert (await post(client, whole, "team", {}, batch=False)).status_code == 202


async def test_a_user_owns_the_own_repositories(client: httpx.AsyncClient, seed: Any) -> None:
    for name in OF_NO_REPOSITORY:
        assert (await client.post(f"/octo/hello/events/{name}", json={})).status_code == 202
