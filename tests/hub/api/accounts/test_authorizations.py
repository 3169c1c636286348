"""Grants and authorizations, which a user manages with a password."""

import hashlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, bodies, links
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from hub_client import open_client
from statement_log import statements
from transactions import transaction

from hub.settings import HubSettings
from store import Row, Store
from store.accounts import accounts, apps, grants, tokens
from store.accounts import totp as one_time
from store.clock import MovableClock

SECRET = "s" * 40
PASSWORD = "open sesame"
# The low costs of this hash keep tests with many requests fast.
HASHED = Argon2id(
    salt=b"s" * 16, length=32, iterations=1, lanes=1, memory_cost=8
).derive_phc_encoded(PASSWORD.encode())
OWN = "/authorizations"
GRANTS = "/applications/grants"


@pytest.fixture
def app(store: Store, seed: Any) -> Row:
    """The OAuth app Lab, which reader owns."""
    return store.write_sync(
        lambda db: apps.create(
            db,
            seed.reader["id"],
            "Lab",
            url="https://lab.example/",
            client_id="lab-client",
            client_secret=SECRET,
        )
    )[1]


@pytest.fixture
async def own(store: Store, seed: Any, settings: HubSettings) -> AsyncIterator[httpx.AsyncClient]:
    """A client with octo's password. Each response is checked against the contract."""
    store.write_sync(accounts.set_password, seed.octo["id"], HASHED)
    async with open_client(store, settings, auth=("octo", PASSWORD)) as opened:
        yield opened


async def made(own: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    body = {"note": "laptop"} | body
    answer = await own.post(OWN, json=body)
    assert answer.status_code == 201, answer.text
    content: dict[str, Any] = answer.json()
    return content


def for_app(**more: Any) -> dict[str, Any]:
    return {"client_id": "lab-client", "client_secret": SECRET} | more


async def test_a_token_of_one_s_own(own: httpx.AsyncClient, store: Store, seed: Any) -> None:
    answer = await own.post(
        OWN, json={"note": "laptop", "scopes": ["user", "user:email"], "note_url": "https://x.y/"}
    )
    content = answer.json()
    assert answer.status_code == 201
    url = f"{BASE}/authorizations/{content['id']}"
    assert answer.headers["Location"] == content["url"] == url
    value = content["token"]
    assert value.startswith("tsp_")
    assert content["hashed_token"] == hashlib.sha256(value.encode()).hexdigest()
    assert content["token_last_eight"] == value[-8:]
    assert content["scopes"] == ["user"]
    assert content["app"]["client_id"] == "0" * 20
    assert (content["note"], content["fingerprint"]) == ("laptop", None)
    found = store.read_sync(tokens.find, value)
    assert (found["login"], found["scopes"]) == ("octo", {"user"})


async def test_the_value_is_in_no_other_answer(own: httpx.AsyncClient, app: Row) -> None:
    values = [(await made(own))["token"], (await made(own, **for_app()))["token"]]
    shown = [(await own.get(OWN)).text, (await own.get(f"{OWN}/1")).text]
    shown += [(await own.patch(f"{OWN}/{number}", json={"note": "n"})).text for number in (3, 4)]
    listed = (await own.get(OWN)).json()
    assert {one["token"] for one in listed} == {""}
    for value in values:
        assert value not in "".join(shown)


async def test_no_event_has_the_value(own: httpx.AsyncClient, store: Store, app: Row) -> None:
    one = await made(own, scopes=["repo"])
    other = await made(own, **for_app())
    await own.patch(f"{OWN}/{one['id']}", json={"add_scopes": ["gist"]})
    await own.delete(f"{OWN}/{one['id']}")
    (grant,) = (await own.get(GRANTS)).json()
    await own.delete(f"{GRANTS}/{grant['id']}")
    reported = bodies(store, "authorization")
    assert [each["action"] for each in reported] == ["created", "created", "edited", "deleted"]
    assert reported[2]["authorization"]["scopes"] == ["repo", "gist"]
    assert {each["sender"]["login"] for each in reported} == {"octo"}
    (ended,) = bodies(store, "application_grant")
    assert (ended["action"], ended["grant"]["app"]["name"]) == ("deleted", "Lab")
    assert one["token"] not in str(reported)
    assert other["token"] not in str(reported) + str(ended)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "missing_field"),
        ({"note": ""}, "missing_field"),
        ({"note": "taken"}, "already_exists"),
        ({"note": "n", "scopes": ["everything"]}, "invalid"),
        ({"note": "n", "note_url": "javascript:alert(1)"}, "invalid"),
    ],
)
async def test_invalid_authorizations_are_rejected(
    own: httpx.AsyncClient, body: dict[str, Any], code: str
) -> None:
    await made(own, note="taken")
    content = assert_error(await own.post(OWN, json=body), 422, "Validation Failed", code=code)
    assert content["errors"][0]["resource"] == "OauthAccess"
    assert len((await own.get(OWN)).json()) == 2


async def test_bodies_of_another_shape(own: httpx.AsyncClient) -> None:
    for body in ({"note": 1}, {"scopes": "repo"}, {"note": "x" * 256}, {"client_id": "x" * 21}):
        assert_error(await own.post(OWN, json=body), 422)
    assert_error(await own.post(OWN, content=b"{"), 400, "Problems parsing JSON")


@pytest.mark.parametrize(
    "wrong",
    [
        {"client_id": "nobody-here"},
        {"client_secret": "t" * 40},
        {"client_id": ""},
        {"client_id": "mill-client"},
    ],
)
async def test_a_wrong_client_id_or_secret_is_refused(
    own: httpx.AsyncClient, store: Store, seed: Any, app: Row, wrong: dict[str, str]
) -> None:
    store.write_sync(
        lambda db: apps.create(
            db,
            seed.reader["id"],
            "Mill",
            url="https://mill.example/",
            kind="integration",
            client_id="mill-client",
            client_secret=SECRET,
        )
    )
    said = "Invalid OAuth application client_id or secret."
    body = for_app(**wrong)
    assert_error(await own.post(OWN, json=body), 422, said)
    if body["client_id"]:
        path = f"{OWN}/clients/{body['client_id']}"
        for put in (path, f"{path}/print"):
            answer = await own.put(put, json={"client_secret": body["client_secret"]})
            assert_error(answer, 422, said)
    assert_error(await own.post(OWN, json={"client_id": "lab-client"}), 422, said)


async def test_an_app_has_one_token_for_each_fingerprint(own: httpx.AsyncClient, app: Row) -> None:
    found = [await made(own, **for_app(fingerprint=name)) for name in (None, "a", "b")]
    assert [one["fingerprint"] for one in found] == [None, "a", "b"]
    assert len({one["token"] for one in found}) == 3
    assert found[0]["token"].startswith("tso_")
    assert found[0]["app"] == {
        "url": "https://lab.example/",
        "name": "Lab",
        "client_id": "lab-client",
    }
    again = await own.post(OWN, json=for_app(fingerprint="a"))
    assert_error(again, 422, "Validation Failed", code="already_exists")


@pytest.mark.parametrize("path", [f"{OWN}/clients/lab-client", f"{OWN}/clients/lab-client/print"])
async def test_get_or_create(own: httpx.AsyncClient, app: Row, path: str) -> None:
    body = {"client_secret": SECRET, "scopes": ["repo"], "note": "first"}
    first = await own.put(path, json=body)
    assert first.status_code == 201
    assert first.headers["Location"] == first.json()["url"]
    assert first.json()["token"].startswith("tso_")
    assert first.json()["fingerprint"] == ("print" if path.endswith("print") else None)
    second = await own.put(path, json=body | {"scopes": ["gist"], "note": "second"})
    assert second.status_code == 200
    assert second.headers["Location"] == first.json()["url"]
    assert second.json() == first.json() | {"token": ""}
    assert_error(await own.put(path, json={}), 422)


async def test_get_or_create_by_a_fingerprint_in_the_body(own: httpx.AsyncClient, app: Row) -> None:
    path = f"{OWN}/clients/lab-client"
    first = await own.put(path, json={"client_secret": SECRET, "fingerprint": "a"})
    second = await own.put(path, json={"client_secret": SECRET})
    third = await own.put(f"{path}/a", json={"client_secret": SECRET})
    assert [one.status_code for one in (first, second, third)] == [201, 201, 200]
    assert third.json()["id"] == first.json()["id"]
    assert second.json()["fingerprint"] is None
    assert_error(await own.put(f"{path}/{'x' * 256}", json={"client_secret": SECRET}), 422)


async def test_lists_are_one_s_own_in_pages(
    own: httpx.AsyncClient, store: Store, seed: Any, app: Row
) -> None:
    for number in range(3):
        await made(own, note=f"n{number}")
    mine = await made(own, **for_app())
    listed = (await own.get(OWN)).json()
    assert [one["note"] for one in listed] == [None, "n0", "n1", "n2", "laptop"]
    page = await own.get(OWN, params={"per_page": 2, "page": 2})
    assert [one["note"] for one in page.json()] == ["n1", "n2"]
    assert set(links(page)) - {"deprecation"} == {"prev", "next", "last", "first"}
    narrowed = await own.get(OWN, params={"client_id": "lab-client"})
    assert [one["id"] for one in narrowed.json()] == [mine["id"]]
    for path in (OWN, GRANTS):
        assert_error(await own.get(path, params={"client_id": "nobody-here"}), 404, "Not Found")


async def test_lists_ask_the_store_no_more_for_more(
    own: httpx.AsyncClient, store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of SQL statements does not grow with the rows."""

    with transaction(store) as db:
        for number in range(20):
            name = f"app {number}"
            _, row = apps.create(db, seed.reader["id"], name, url="https://x.example/")
            grants.issue(db, row, seed.octo["id"], scopes=["repo"])
    asked = statements(monkeypatch)
    for path in (OWN, GRANTS):
        await own.get(path)
        numbers = []
        for rows in (1, 20):
            asked.clear()
            assert len((await own.get(path, params={"per_page": rows})).json()) == rows
            numbers.append(len(asked))
        assert numbers[0] == numbers[1] > 0


async def test_grants_and_authorizations_of_others_are_not_found(
    own: httpx.AsyncClient, store: Store, seed: Any, app: Row
) -> None:
    with transaction(store) as db:
        _, token = grants.issue(db, app, seed.reader["id"])
        grant = grants.of_app(db, seed.reader["id"], app["id"])
        assert grant is not None
        token_id, grant_id = token["id"], grant["id"]
    for path in (f"{OWN}/{token_id}", f"{GRANTS}/{grant_id}", f"{OWN}/999", f"{GRANTS}/x"):
        assert_error(await own.get(path), 404, "Not Found")
        assert_error(await own.delete(path), 404, "Not Found")
    assert_error(await own.patch(f"{OWN}/{token_id}", json={}), 404, "Not Found")
    assert store.read_sync(grants.count, seed.reader["id"]) == 1


async def test_tokens_with_permissions_are_not_among_them(
    own: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    _, fine = store.write_sync(
        lambda db: tokens.create(db, seed.octo["id"], kind="fine_grained", note="fine")
    )
    assert_error(await own.get(f"{OWN}/{fine['id']}"), 404)
    assert "fine" not in (await own.get(OWN)).text


@pytest.mark.parametrize(
    ("change", "scopes"),
    [
        ({"scopes": ["user", "user:email"]}, ["user"]),
        ({"scopes": []}, []),
        ({"scopes": None}, []),
        ({"add_scopes": ["user"]}, ["repo", "gist", "user"]),
        ({"remove_scopes": ["gist"]}, ["repo"]),
        ({}, ["repo", "gist"]),
    ],
)
async def test_scopes_change_in_one_of_three_ways(
    own: httpx.AsyncClient, store: Store, change: dict[str, Any], scopes: list[str]
) -> None:
    before = await made(own, scopes=["repo", "gist"])
    answer = await own.patch(f"{OWN}/{before['id']}", json=change)
    assert answer.json()["scopes"] == scopes
    assert store.read_sync(tokens.find, before["token"])["scopes"] == set(scopes)


async def test_scopes_are_changed_in_one_way_at_a_time(own: httpx.AsyncClient) -> None:
    path = f"{OWN}/{(await made(own))['id']}"
    for body in (
        {"scopes": ["repo"], "add_scopes": ["gist"]},
        {"add_scopes": ["repo"], "remove_scopes": ["gist"]},
    ):
        assert_error(await own.patch(path, json=body), 422, code="custom")
    assert_error(await own.patch(path, json={"add_scopes": ["nothing"]}), 422, code="invalid")


async def test_an_authorization_is_changed_without_scopes(own: httpx.AsyncClient, app: Row) -> None:
    first = await made(own, note_url="https://x.example/")
    changed = await own.patch(f"{OWN}/{first['id']}", json={"note": "desk", "fingerprint": "f"})
    assert changed.status_code == 200
    content = changed.json()
    assert (content["note"], content["fingerprint"]) == ("desk", "f")
    assert content["note_url"] == "https://x.example/"
    await made(own, note="other")
    taken = await own.patch(f"{OWN}/{first['id']}", json={"note": "other"})
    assert_error(taken, 422, code="already_exists")
    await made(own, **for_app(fingerprint="a"))
    second = await made(own, **for_app(fingerprint="b"))
    taken = await own.patch(f"{OWN}/{second['id']}", json={"fingerprint": "a"})
    assert_error(taken, 422, code="already_exists")


@pytest.mark.parametrize(
    "change", [{}, {"note": "laptop"}, {"scopes": ["repo"]}, {"add_scopes": ["repo"]}]
)
async def test_a_change_to_the_same_emits_no_event(
    own: httpx.AsyncClient, store: Store, clock: MovableClock, change: dict[str, Any]
) -> None:
    before = await made(own, scopes=["repo"])
    clock.advance(60)
    again = await own.patch(f"{OWN}/{before['id']}", json=change)
    assert again.json()["updated_at"] == before["updated_at"]
    assert [one["action"] for one in bodies(store, "authorization")] == ["created"]


async def test_a_deleted_one_is_invalid_at_once(
    own: httpx.AsyncClient, store: Store, app: Row
) -> None:
    gone = await made(own, **for_app())
    answer = await own.delete(f"{OWN}/{gone['id']}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert store.read_sync(tokens.find, gone["token"]) is None
    assert_error(await own.get(f"{OWN}/{gone['id']}"), 404)
    (grant,) = (await own.get(GRANTS)).json()
    assert grant["scopes"] == []


async def test_a_grant_joins_the_scopes_of_an_app(own: httpx.AsyncClient, app: Row) -> None:
    assert (await own.get(GRANTS)).json() == []
    await made(own, **for_app(scopes=["repo"]))
    await made(own, **for_app(scopes=["gist", "repo"], fingerprint="a"))
    (grant,) = (await own.get(GRANTS)).json()
    assert grant["scopes"] == ["repo", "gist"]
    assert grant["app"]["client_id"] == "lab-client"
    assert grant["url"] == f"{BASE}/applications/grants/{grant['id']}"
    assert (await own.get(f"{GRANTS}/{grant['id']}")).json() == grant
    assert (await own.get(GRANTS, params={"client_id": "lab-client"})).json() == [grant]


async def test_with_a_grant_go_the_app_s_tokens_of_that_user(
    own: httpx.AsyncClient, store: Store, seed: Any, app: Row
) -> None:
    gone = [(await made(own, **for_app(fingerprint=name)))["token"] for name in "ab"]
    kept = [seed.token, store.write_sync(lambda db: grants.issue(db, app, seed.reader["id"]))[0]]
    (grant,) = (await own.get(GRANTS)).json()
    assert (await own.delete(f"{GRANTS}/{grant['id']}")).status_code == 204
    assert all(store.read_sync(tokens.find, value) is None for value in gone)
    assert all(store.read_sync(tokens.find, value) is not None for value in kept)
    assert_error(await own.get(f"{GRANTS}/{grant['id']}"), 404)
    assert (await own.get(GRANTS)).json() == []


async def test_an_integration_receives_an_event_of_its_revocation(
    own: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    with transaction(store) as db:
        _, mill = apps.create(
            db, seed.reader["id"], "Mill", url="https://mill.example/", kind="integration"
        )
        grants.issue(db, mill, seed.octo["id"])
    (grant,) = (await own.get(GRANTS)).json()
    await own.delete(f"{GRANTS}/{grant['id']}")
    (reported,) = bodies(store, "github_app_authorization")
    assert (reported["action"], reported["sender"]["login"]) == ("revoked", "octo")
    assert bodies(store, "application_grant") == []


async def test_authorizations_announce_their_deprecation(own: httpx.AsyncClient, app: Row) -> None:
    answer = await own.get(OWN)
    assert answer.headers["Deprecation"]
    assert "13 Nov 2020" in answer.headers["Sunset"]
    assert 'rel="deprecation"' in answer.headers["Link"]


async def test_only_a_password_opens_them(own: httpx.AsyncClient, seed: Any) -> None:
    own.auth = None
    for header in (f"Bearer {seed.token}", f"token {seed.token}", "Bearer x"):
        assert_error(await own.get(OWN, headers={"Authorization": header}), 403)
    assert_error(await own.get(OWN, auth=("octo", seed.token)), 403)
    assert_error(await own.get(OWN, headers={"Authorization": "Basic x"}), 401)
    assert_error(await own.get(OWN), 401, "Requires authentication")
    for auth in (("octo", "wrong"), ("reader", ""), ("nobody", PASSWORD)):
        answer = await own.get(OWN, auth=auth)
        assert_error(answer, 401, "Bad credentials")
        assert answer.headers["WWW-Authenticate"].startswith("Basic")
    assert (await own.get(OWN, auth=("OCTO", PASSWORD))).status_code == 200


async def test_authorizations_need_a_one_time_password_once_it_is_set_up(
    own: httpx.AsyncClient, store: Store, seed: Any, clock: Any
) -> None:
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    store.write_sync(
        lambda db: one_time.set_up(
            db, seed.octo["id"], login="octo", issuer="tocsin", secret=secret
        )
    )
    totp = TOTP(b"12345678901234567890", 6, SHA1(), 30)  # noqa: S303 - RFC 6238

    def code() -> dict[str, str]:
        return {"X-Service-OTP": totp.generate(clock.now() // 1_000_000).decode()}

    missing = await own.get(OWN)
    assert_error(missing, 401, "Must specify two-factor authentication OTP code.")
    assert missing.headers["X-Service-OTP"] == "required; app"
    assert_error(await own.get(OWN, headers={"X-Service-OTP": "000000"}), 401)
    same = code()
    assert (await own.get(OWN, headers=same)).status_code == 200
    assert (await own.post(OWN, json={"note": "n"}, headers=same)).status_code == 201
    assert_error(await own.post(OWN, json={"note": "m"}, headers=same), 401)
    assert (await own.get(OWN, headers=same)).status_code == 200
    clock.advance(30)
    assert (await own.post(OWN, json={"note": "m"}, headers=code())).status_code == 201
    clock.advance(60)
    assert_error(await own.get(OWN, headers=same), 401)
