"""Applications check, narrow, reset, and revoke the tokens that they hold for users."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from assertions import assert_error, bodies, waiting
from bearer import bearer
from hub_client import open_client
from transactions import transaction

from hub.settings import HubSettings
from store import Connection, Row, Store
from store.accounts import accounts, apps, grants, tokens
from store.apps import app_hooks, installations
from store.clock import SECOND, iso
from store.repositories import repositories

SECRET = "s" * 40
TOKEN = "/applications/lab-client/token"
GRANT = "/applications/lab-client/grant"
SCOPED = "/applications/mill-client/token/scoped"
HELD = {"contents": "write", "webhooks": "write"}


@dataclass
class Held:
    """The apps lab and mill of reader, and a token that each of them holds for octo.

    lab is an OAuth app with the token `plain`. mill is an integration with the token `narrow`.
    """

    lab: Row
    mill: Row
    plain: str
    narrow: str


@pytest.fixture
def held(store: Store, seed: Any) -> Held:
    with transaction(store) as db:
        lab, mill = (
            apps.create(
                db,
                seed.reader["id"],
                name,
                url=f"https://{name}.example/",
                kind=kind,
                permissions=permissions,
                client_id=f"{name}-client",
                client_secret=SECRET,
            )[1]
            for name, kind, permissions in (("lab", "oauth", {}), ("mill", "integration", HELD))
        )
        plain, _ = grants.issue(db, lab, seed.octo["id"], scopes=["repo"], note="n")
        narrow, _ = grants.issue(db, mill, seed.octo["id"], where_installed=False)
        return Held(lab, mill, plain, narrow)


@pytest.fixture
async def lab(store: Store, held: Held, settings: HubSettings) -> AsyncIterator[httpx.AsyncClient]:
    """A client that authenticates as the app lab. Each response is checked against the contract."""
    async with open_client(store, settings, auth=("lab-client", SECRET)) as opened:
        yield opened


@pytest.fixture
def mill(lab: httpx.AsyncClient) -> httpx.AsyncClient:
    """The client `lab` with the credentials of the app mill."""
    lab.auth = httpx.BasicAuth("mill-client", SECRET)
    return lab


def named(value: str, **more: Any) -> dict[str, Any]:
    return {"access_token": value} | more


async def delete(client: httpx.AsyncClient, path: str, value: str) -> httpx.Response:
    return await client.request("DELETE", path, json=named(value))


async def test_a_token_is_checked(lab: httpx.AsyncClient, store: Store, held: Held) -> None:
    answer = await lab.post(TOKEN, json=named(held.plain))
    assert answer.status_code == 200
    content = answer.json()
    assert content["token"] == held.plain
    assert content["hashed_token"] == tokens.digest(held.plain)
    assert content["user"]["login"] == "octo"
    assert content["scopes"] == ["repo"]
    assert content["expires_at"] is None
    assert content["app"]["client_id"] == "lab-client"
    assert bodies(store, "authorization") == []


async def test_a_token_is_shown_with_its_end_and_fingerprint(
    lab: httpx.AsyncClient, store: Store, seed: Any, held: Held, clock: Any
) -> None:
    ends = clock.now() + 60 * SECOND
    value, _ = store.write_sync(
        lambda db: grants.issue(db, held.lab, seed.octo["id"], fingerprint="f", expires_at=ends)
    )
    content = (await lab.post(TOKEN, json=named(value))).json()
    assert (content["expires_at"], content["fingerprint"]) == (iso(ends), "f")
    clock.advance(60)
    assert_error(await lab.post(TOKEN, json=named(value)), 404, "Not Found")


async def test_tokens_of_others_are_not_found(
    lab: httpx.AsyncClient, store: Store, seed: Any, held: Held
) -> None:
    wrong = ["", "x", "x" * 255, "x" * 1_000, tokens.new_value("oauth"), held.narrow, seed.token]
    for value in wrong:
        assert_error(await lab.post(TOKEN, json=named(value)), 404, "Not Found")
        assert_error(await lab.patch(TOKEN, json=named(value)), 404, "Not Found")
        for path in (TOKEN, GRANT):
            assert_error(await delete(lab, path, value), 422, code="invalid")
    assert store.read_sync(tokens.find, held.narrow) is not None
    assert store.read_sync(tokens.find, seed.token) is not None


async def test_bad_checks_are_no_failed_logins(lab: httpx.AsyncClient, held: Held) -> None:
    for _ in range(60):
        answer = await lab.post(TOKEN, json=named(tokens.new_value("oauth")))
        assert answer.status_code == 404
    assert (await lab.post(TOKEN, json=named(held.plain))).status_code == 200


async def test_a_reset_takes_effect_at_once(
    lab: httpx.AsyncClient, store: Store, held: Held, clock: Any
) -> None:
    before = (await lab.post(TOKEN, json=named(held.plain))).json()
    clock.advance(5)
    answer = await lab.patch(TOKEN, json=named(held.plain))
    assert answer.status_code == 200
    content = answer.json()
    value = content["token"]
    assert value != held.plain
    assert value.startswith("tso_")
    assert content == before | {
        "token": value,
        "hashed_token": tokens.digest(value),
        "token_last_eight": value[-8:],
        "updated_at": iso(clock.now()),
    }
    assert_error(await lab.post(TOKEN, json=named(held.plain)), 404)
    assert store.read_sync(tokens.find, held.plain) is None
    assert store.read_sync(tokens.find, value)["scopes"] == {"repo"}
    (reported,) = bodies(store, "authorization")
    assert (reported["action"], reported["user"]["login"]) == ("reset", "octo")
    assert value not in str(reported)


async def test_a_token_is_deleted_and_its_grant_stays(
    lab: httpx.AsyncClient, store: Store, seed: Any, held: Held
) -> None:
    answer = await delete(lab, TOKEN, held.plain)
    assert (answer.status_code, answer.content) == (204, b"")
    assert store.read_sync(tokens.find, held.plain) is None
    assert store.read_sync(grants.of_app, seed.octo["id"], held.lab["id"])["scopes"] == []
    assert [reported["action"] for reported in bodies(store, "authorization")] == ["deleted"]


async def test_with_a_grant_go_the_app_s_tokens_of_that_user(
    lab: httpx.AsyncClient, store: Store, seed: Any, held: Held
) -> None:
    with transaction(store) as db:
        second, _ = grants.issue(db, held.lab, seed.octo["id"], fingerprint="b")
        theirs, _ = grants.issue(db, held.lab, seed.reader["id"])
    assert (await delete(lab, GRANT, held.plain)).status_code == 204
    for value, there in (
        (held.plain, False),
        (second, False),
        (theirs, True),
        (held.narrow, True),
        (seed.token, True),
    ):
        assert (store.read_sync(tokens.find, value) is not None) is there
    assert store.read_sync(grants.of_app, seed.octo["id"], held.lab["id"]) is None
    (reported,) = bodies(store, "application_grant")
    assert (reported["action"], reported["user"]["login"]) == ("deleted", "octo")


async def test_an_integration_receives_an_event_of_its_revocation(
    mill: httpx.AsyncClient, store: Store, held: Held
) -> None:
    """The app's hook needs no subscription to it."""
    hook = store.write_sync(app_hooks.create, held.mill, url="https://mill.example/in")
    answer = await delete(mill, "/applications/mill-client/grant", held.narrow)
    assert answer.status_code == 204
    (reported,) = bodies(store, "github_app_authorization")
    assert (reported["action"], reported["sender"]["login"]) == ("revoked", "octo")
    assert [row["name"] for row in waiting(store, hook["id"])] == ["github_app_authorization"]


@pytest.mark.parametrize("body", [b"{}", b"", b'{"access_token": 1}', b'{"access_token": null}'])
async def test_a_token_has_to_be_named(lab: httpx.AsyncClient, body: bytes) -> None:
    for method, path in (
        ("POST", TOKEN),
        ("PATCH", TOKEN),
        ("DELETE", TOKEN),
        ("DELETE", GRANT),
        ("POST", f"{TOKEN}/scoped"),
    ):
        assert_error(await lab.request(method, path, content=body), 422)


async def test_an_app_asks_for_itself(lab: httpx.AsyncClient, seed: Any, held: Held) -> None:
    other = await lab.post("/applications/mill-client/token", json=named(held.narrow))
    assert_error(other, 404, "Not Found")
    for auth in (("lab-client", "t" * 40), ("nobody-here", SECRET), ("octo", SECRET), ("", "")):
        assert_error(await lab.post(TOKEN, json=named(held.plain), auth=auth), 401)
    lab.auth = None
    for value in (seed.token, held.plain):
        assert_error(await lab.post(TOKEN, json=named(held.plain), headers=bearer(value)), 403)
    assert_error(await lab.post(TOKEN, json=named(held.plain)), 401)


async def test_a_token_can_be_narrowed_to_repositories_and_permissions(
    mill: httpx.AsyncClient, store: Store, seed: Any, held: Held
) -> None:
    body = named(
        held.narrow, target="OCTO", repositories=["Vault"], permissions={"contents": "read"}
    )
    answer = await mill.post(SCOPED, json=body)
    assert answer.status_code == 200
    content = answer.json()
    assert content["token"].startswith("tsu_")
    assert content["user"]["login"] == "octo"
    found = content["installation"]
    assert found["permissions"] == {"contents": "read"}
    assert (found["repository_selection"], found["account"]["login"]) == ("selected", "octo")
    row = store.read_sync(tokens.find, content["token"])
    assert (row["target_id"], row["repositories"]) == (seed.octo["id"], {seed.vault["id"]})
    assert store.read_sync(tokens.find, held.narrow)["target_id"] is None
    again = await mill.post("/applications/mill-client/token", json=named(content["token"]))
    assert again.json()["installation"] == found
    (reported,) = bodies(store, "authorization")
    assert (reported["action"], content["token"] in str(reported)) == ("created", False)


async def test_a_token_can_be_narrowed_to_an_account(
    mill: httpx.AsyncClient, seed: Any, held: Held
) -> None:
    answer = await mill.post(SCOPED, json=named(held.narrow, target_id=seed.octo["id"]))
    found = answer.json()["installation"]
    assert (found["repository_selection"], found["permissions"]) == ("all", HELD)


@pytest.mark.parametrize(
    ("narrowing", "code"),
    [
        ({}, "missing_field"),
        ({"target": "nobody"}, "invalid"),
        ({"target_id": 999}, "invalid"),
        ({"target": "octo", "target_id": 999}, "invalid"),
        ({"target": "octo", "repositories": ["hello"], "repository_ids": [1]}, "invalid"),
        ({"target": "octo", "repositories": ["nothing"]}, None),
        ({"target": "octo", "repository_ids": [999]}, None),
        ({"target": "octo", "repositories": ["hello", "HIDDEN"]}, None),
        ({"target": "reader", "repositories": ["hello"]}, None),
        ({"target": "reader", "repositories": ["hidden"]}, None),
        ({"target": "octo", "permissions": {"contents": "admin"}}, None),
        ({"target": "octo", "permissions": {"checks": "read"}}, None),
        ({"target": "octo", "permissions": {"checks": "all"}}, None),
        ({"target": "octo", "repository_ids": [2**63]}, None),
        ({"target_id": 2**70}, None),
    ],
)
async def test_a_wrong_narrowing_of_a_token_is_refused(
    mill: httpx.AsyncClient,
    store: Store,
    seed: Any,
    held: Held,
    narrowing: dict[str, Any],
    code: str | None,
) -> None:
    store.write_sync(lambda db: repositories.create(db, seed.reader["id"], "hidden", private=True))
    answer = await mill.post(SCOPED, json=named(held.narrow, **narrowing))
    assert_error(answer, 422, code=code)
    assert store.read_sync(lambda db: db.value("SELECT count(*) FROM token")) == 4


async def test_a_token_can_be_narrowed_to_visible_repositories_only(
    mill: httpx.AsyncClient, store: Store, seed: Any, held: Held
) -> None:
    def organize(db: Connection) -> dict[str, int]:
        guild = accounts.create(db, "guild", kind="Organization")
        hall = repositories.create(db, guild["id"], "hall", private=True)
        lent = repositories.create(db, seed.reader["id"], "lent", private=True)
        repositories.grant(db, lent["id"], seed.octo["id"], "read")
        return {"guild": guild["id"], "hall": hall["id"], "lent": lent["id"]}

    made = store.write_sync(organize)
    lent = named(held.narrow, target="reader", repository_ids=[made["lent"], made["lent"]])
    assert (await mill.post(SCOPED, json=lent)).status_code == 200
    hall = named(held.narrow, target="guild", repositories=["hall"])
    assert_error(await mill.post(SCOPED, json=hall), 422)
    store.write_sync(accounts.join, made["guild"], seed.octo["id"], "member")
    assert (await mill.post(SCOPED, json=hall)).status_code == 200


async def test_only_an_app_user_s_whole_token_is_narrowed(
    mill: httpx.AsyncClient, held: Held
) -> None:
    scoped = (await mill.post(SCOPED, json=named(held.narrow, target="octo"))).json()["token"]
    again = await mill.post(SCOPED, json=named(scoped, target="octo"))
    assert_error(again, 422, code="invalid")
    unknown = named(tokens.new_value("app_user"), target="octo")
    assert_error(await mill.post(SCOPED, json=unknown), 404)
    mill.auth = httpx.BasicAuth("lab-client", SECRET)
    plain = await mill.post(f"{TOKEN}/scoped", json=named(held.plain, target="octo"))
    assert_error(plain, 422, code="invalid")


async def test_a_token_that_needs_the_installed_app_is_narrowed_within_an_installation(
    mill: httpx.AsyncClient, store: Store, seed: Any, held: Held
) -> None:
    def install(db: Connection) -> str:
        given = {"accepted": {"contents": "read"}, "repositories": [seed.vault["id"]]}
        installations.create(db, held.mill, seed.octo, **given)
        return grants.issue(db, held.mill, seed.octo["id"])[0]

    value = store.write_sync(install)
    for more, status in (
        ({"target": "octo"}, 200),
        ({"target": "octo", "repositories": ["vault"]}, 200),
        ({"target": "octo", "permissions": {"contents": "read"}}, 200),
        ({"target": "reader"}, 422),
        ({"target": "octo", "repositories": ["vault", "hello"]}, 422),
        ({"target": "octo", "permissions": {"contents": "write"}}, 422),
    ):
        answer = await mill.post(SCOPED, json=named(value, **more))
        assert answer.status_code == status, (more, answer.text)
    # A token that is valid everywhere is narrowed without an installation.
    body = named(held.narrow, target="octo", repositories=["hello"])
    assert (await mill.post(SCOPED, json=body)).status_code == 200


async def test_a_scoped_token_reaches_no_more(
    mill: httpx.AsyncClient, store: Store, seed: Any, held: Held
) -> None:
    """The scoped token reaches only the selected repository of the target account."""

    with transaction(store) as db:
        lent = repositories.create(db, seed.reader["id"], "lent", private=True)
        repositories.grant(db, lent["id"], seed.octo["id"], "admin")
    body = named(held.narrow, target="octo", repositories=["vault"])
    scoped = (await mill.post(SCOPED, json=body)).json()["token"]
    mill.auth = None
    for value, expected in ((held.narrow, (200, 200, 200)), (scoped, (200, 403, 404))):
        header = bearer(value)
        found = [
            (await mill.get(f"/repos/{name}/hooks", headers=header)).status_code
            for name in ("octo/vault", "octo/hello", "reader/lent")
        ]
        assert tuple(found) == expected
