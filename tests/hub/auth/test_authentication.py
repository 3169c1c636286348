"""Authentication: passwords, one-time passwords, applications, kinds of token, single sign-on."""

import asyncio
import base64
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error
from bearer import bearer
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from hub_client import open_client
from transactions import transaction
from waiting import PATIENCE

from hub.app import create_app
from hub.auth import passwords
from hub.openid import people
from hub.openid.errors import SignInFailed
from hub.settings import HubSettings
from store import Store, open_store
from store.accounts import accounts, apps, logins, sso, tokens
from store.accounts import totp as one_time
from store.clock import SECOND, MovableClock
from store.repositories import repositories

PASSWORD = "open sesame"
# A cheap hash, so that many attempts take little time.
HASHED = Argon2id(
    salt=b"s" * 16, length=32, iterations=1, lanes=1, memory_cost=8
).derive_phc_encoded(PASSWORD.encode())
SECRET = "s" * 40
KEY = b"k" * 20
OWN = "/authorizations"
TOO_MANY = "Maximum number of login attempts exceeded. Please try again later."
BASIC_ONLY = "This API can only be accessed with username and password Basic Auth"
HOOKS = "/repos/octo/hello/hooks"
OCTO = ("octo", PASSWORD)
# The default limit of anonymous requests would end the tests with many wrong passwords.
LIMITS = {"core": 1000}


@pytest.fixture
def settings() -> HubSettings:
    return HubSettings(
        base_url=BASE,
        failed_logins=3,
        failed_logins_address=5,
        failed_tokens=3,
        failed_login_seconds=60,
        rate_limits_anonymous=LIMITS,
    )


@pytest.fixture
async def anyone(client: httpx.AsyncClient, store: Store, seed: Any) -> httpx.AsyncClient:
    """A client without credentials. octo and reader have a password."""
    del client.headers["Authorization"]
    for account in (seed.octo, seed.reader):
        store.write_sync(accounts.set_password, account["id"], HASHED)
    return client


@pytest.fixture
def code(store: Store, seed: Any, clock: MovableClock) -> Any:
    """A function that returns octo's one-time password for the current time."""
    secret = base64.b32encode(KEY).decode()
    store.write_sync(
        lambda db: one_time.set_up(
            db, seed.octo["id"], login="octo", issuer="tocsin", secret=secret
        )
    )
    totp = TOTP(KEY, 6, SHA1(), 30)  # noqa: S303 - what authenticators use
    return lambda: totp.generate(clock.now() // SECOND).decode()


async def test_a_user_authenticates_by_password(anyone: httpx.AsyncClient) -> None:
    assert (await anyone.get(OWN, auth=OCTO)).status_code == 200
    assert (await anyone.get(OWN, auth=("OCTO", PASSWORD))).status_code == 200
    for auth in (("octo", "wrong"), ("octo", ""), ("nobody", PASSWORD), ("\0", PASSWORD)):
        answer = await anyone.get(OWN, auth=auth)
        assert_error(answer, 401, "Bad credentials")
        assert answer.headers["WWW-Authenticate"].startswith("Basic ")
    answer = await anyone.get(OWN)
    assert_error(answer, 401, "Requires authentication")
    assert answer.headers["WWW-Authenticate"].startswith("Basic ")


async def test_a_password_is_good_for_nothing_else(anyone: httpx.AsyncClient) -> None:
    for path in (HOOKS, "/versions", "/user/emails"):
        assert_error(await anyone.get(path, auth=OCTO), 401, "Bad credentials")


async def test_a_path_that_does_not_exist_is_not_found_with_a_password(
    anyone: httpx.AsyncClient,
) -> None:
    for path in (f"{OWN}/", "/nothing"):
        assert_error(await anyone.get(path, auth=OCTO), 404, "Not Found")
        assert_error(await anyone.post(path, auth=OCTO, json={}), 404, "Not Found")
    auth = ("octo", tokens.new_value("personal"))
    assert_error(await anyone.get("/nothing", auth=auth), 401, "Bad credentials")


async def test_no_token_takes_a_password_s_place(anyone: httpx.AsyncClient, seed: Any) -> None:
    for header in (f"Bearer {seed.token}", f"token {seed.token}", "Bearer x"):
        answer = await anyone.get(OWN, headers={"Authorization": header})
        assert_error(answer, 403, BASIC_ONLY)
    for auth in (("octo", seed.token), (seed.token, "x-oauth-basic")):
        assert_error(await anyone.get(OWN, auth=auth), 403, BASIC_ONLY)


async def test_a_one_time_password_is_required_once_it_is_set_up(
    anyone: httpx.AsyncClient, code: Any, clock: Any
) -> None:
    answer = await anyone.get(OWN, auth=OCTO)
    assert_error(answer, 401, "Must specify two-factor authentication OTP code.")
    assert answer.headers["X-Service-OTP"] == "required; app"
    for name in ("X-Service-OTP", "X-GitHub-OTP"):
        header = {name: code()}
        assert (await anyone.get(OWN, auth=OCTO, headers=header)).status_code == 200
        # A request that changes nothing does not spend the one-time password.
        assert (await anyone.get(OWN, auth=OCTO, headers=header)).status_code == 200
        clock.advance(30)
    header = {"X-Service-OTP": "000000"}
    answer = await anyone.get(OWN, auth=OCTO, headers=header)
    assert (answer.status_code, answer.headers["X-Service-OTP"]) == (401, "required; app")
    # A wrong password does not reveal that a one-time password is set up.
    answer = await anyone.get(OWN, auth=("octo", "wrong"), headers={"X-Service-OTP": code()})
    assert_error(answer, 401, "Bad credentials")
    assert "X-Service-OTP" not in answer.headers


async def test_wrong_passwords_of_a_user_are_limited(
    anyone: httpx.AsyncClient, clock: MovableClock
) -> None:
    for _ in range(3):
        assert (await anyone.get(OWN, auth=("octo", "wrong"))).status_code == 401
    assert_error(await anyone.get(OWN, auth=OCTO), 403, TOO_MANY)
    assert (await anyone.get(OWN, auth=("reader", PASSWORD))).status_code == 200
    clock.advance(61)
    assert (await anyone.get(OWN, auth=OCTO)).status_code == 200


async def test_a_right_one_begins_anew(anyone: httpx.AsyncClient) -> None:
    for _ in range(2):
        for _ in range(2):
            assert (await anyone.get(OWN, auth=("octo", "wrong"))).status_code == 401
        assert (await anyone.get(OWN, auth=OCTO)).status_code == 200


async def test_wrong_passwords_from_an_address_are_limited(anyone: httpx.AsyncClient) -> None:
    for number in range(5):
        assert (await anyone.get(OWN, auth=(f"x{number}", "wrong"))).status_code == 401
        # A successful login does not clear the failures of its address.
        assert (await anyone.get(OWN, auth=OCTO)).status_code == (200 if number < 4 else 403)
    assert_error(await anyone.get(OWN, auth=OCTO), 403, TOO_MANY)


async def test_many_at_once_are_counted_too(anyone: httpx.AsyncClient) -> None:
    tries = [anyone.get(OWN, auth=("octo", "wrong")) for _ in range(10)]
    statuses = [answer.status_code for answer in await asyncio.gather(*tries)]
    assert sorted(statuses) == [401] * 3 + [403] * 7


async def test_right_ones_at_once_are_no_failures(anyone: httpx.AsyncClient) -> None:
    for _ in range(2):
        tries = [anyone.get(OWN, auth=OCTO) for _ in range(10)]
        assert {answer.status_code for answer in await asyncio.gather(*tries)} == {200}


async def test_a_password_that_was_not_checked_is_no_failure(
    anyone: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as crowded:
        crowded.setattr(passwords, "MOST_WAITING", 0)
        for _ in range(6):
            assert (await anyone.get(OWN, auth=OCTO)).status_code == 503
    assert (await anyone.get(OWN, auth=OCTO)).status_code == 200


async def test_a_password_that_gets_no_turn_is_no_failure(
    anyone: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended = asyncio.Event(), threading.Event()
    loop, matches = asyncio.get_running_loop(), accounts.password_matches

    def slowly(password: str, stored: str | None) -> bool:
        loop.call_soon_threadsafe(begun.set)
        return ended.wait(PATIENCE) and matches(password, stored)

    monkeypatch.setattr(accounts, "password_matches", slowly)
    monkeypatch.setattr(passwords, "LONGEST_WAIT", 0)
    first = asyncio.create_task(anyone.get(OWN, auth=OCTO))
    async with asyncio.timeout(PATIENCE):
        await begun.wait()
        for _ in range(6):
            assert (await anyone.get(OWN, auth=OCTO)).status_code == 503
    ended.set()
    assert (await first).status_code == 200
    assert (await anyone.get(OWN, auth=OCTO)).status_code == 200


async def test_wrong_codes_are_counted(anyone: httpx.AsyncClient, code: Any) -> None:
    for _ in range(5):
        # A request without the code is no failure.
        assert (await anyone.get(OWN, auth=OCTO)).status_code == 401
    for _ in range(3):
        header = {"X-Service-OTP": "000000"}
        assert (await anyone.get(OWN, auth=OCTO, headers=header)).status_code == 401
    header = {"X-Service-OTP": code()}
    assert_error(await anyone.get(OWN, auth=OCTO, headers=header), 403, TOO_MANY)


async def test_a_right_password_alone_forgets_no_failures(
    anyone: httpx.AsyncClient, code: Any, clock: MovableClock
) -> None:
    wrong = {"X-Service-OTP": "000000"}
    for number in range(8):
        # The right password alone does not clear the failures of the code.
        assert (await anyone.get(OWN, auth=OCTO)).status_code == (401 if number < 3 else 403)
        answer = await anyone.get(OWN, auth=OCTO, headers=wrong)
        assert answer.status_code == (401 if number < 3 else 403), number
    answer = await anyone.get(OWN, auth=OCTO, headers={"X-Service-OTP": code()})
    assert_error(answer, 403, TOO_MANY)
    clock.advance(61)
    for _ in range(2):
        for _ in range(2):
            assert (await anyone.get(OWN, auth=OCTO, headers=wrong)).status_code == 401
        # A login with the right password and code clears the failures.
        answer = await anyone.get(OWN, auth=OCTO, headers={"X-Service-OTP": code()})
        assert answer.status_code == 200
        clock.advance(30)


async def test_a_right_password_alone_forgets_no_wrong_passwords(
    anyone: httpx.AsyncClient, code: Any
) -> None:
    for _ in range(3):
        assert (await anyone.get(OWN, auth=("octo", "wrong"))).status_code == 401
    assert_error(await anyone.get(OWN, auth=OCTO), 403, TOO_MANY)


@pytest.mark.parametrize("match", ["login", "email"])
def test_a_claim_with_a_nul_names_no_user(store: Store, seed: Any, match: Any) -> None:
    claims = {"preferred_username": "oc\0to", "email": "oc\0to@a.example", "email_verified": True}
    with pytest.raises(SignInFailed, match="user"):
        store.read_sync(people.user_of, HubSettings(openid_match=match), claims)


def test_a_failure_is_undone_in_its_own_window_only(store: Store, clock: MovableClock) -> None:
    first = store.clock.now()
    assert store.write_sync(logins.failed, "login octo", 60) == 1
    clock.advance(61)
    assert store.write_sync(logins.failed, "login octo", 60) == 1
    store.write_sync(logins.undo, "login octo", first)
    assert store.read_sync(logins.times, "login octo", 60.0) == 1
    store.write_sync(logins.undo, "login octo", store.clock.now())
    assert store.read_sync(logins.times, "login octo", 60.0) == 0


def test_failures_of_a_fast_clock_do_not_last(store: Store, clock: MovableClock) -> None:
    clock.advance(3600)
    assert store.write_sync(logins.failed, "login octo", 60) == 1
    clock.advance(-3600)
    assert store.read_sync(logins.times, "login octo", 60.0) == 0
    assert store.write_sync(logins.failed, "login octo", 60) == 1
    clock.advance(-3600)
    assert store.write_sync(logins.forget, 60.0) == 1


async def test_failures_are_remembered(
    anyone: httpx.AsyncClient, store: Store, settings: HubSettings
) -> None:
    for _ in range(3):
        await anyone.get(OWN, auth=("octo", "wrong"))

    async def judge(url: str) -> None: ...

    transport = httpx.ASGITransport(create_app(store, settings, judge))
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as other:
        assert_error(await other.get(OWN, auth=OCTO), 403, TOO_MANY)
    # The refused attempt is no failure: its password was not checked.
    assert store.read_sync(logins.times, "login octo", 60.0) == 3
    assert store.write_sync(logins.forget, -1.0) > 0
    assert store.read_sync(logins.times, "login octo", 60.0) == 0


async def test_failures_hold_across_hubs(
    anyone: httpx.AsyncClient,
    url: str,
    tmp_path: Path,
    clock: MovableClock,
    settings: HubSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = open_store(url, data_dir=tmp_path, clock=clock)
    async with open_client(other, settings) as elsewhere:
        for client in (anyone, elsewhere, anyone):
            assert (await client.get(OWN, auth=("octo", "wrong"))).status_code == 401
        for client in (elsewhere, anyone):
            assert_error(await client.get(OWN, auth=OCTO), 403, TOO_MANY)
        # As if the other hub counted all of them after this one looked at their number.
        monkeypatch.setattr(logins, "times", lambda *_: 0)
        assert_error(await anyone.get(OWN, auth=OCTO), 403, TOO_MANY)


async def test_too_many_wrong_tokens(anyone: httpx.AsyncClient, seed: Any) -> None:
    unknown = bearer(tokens.new_value("personal"))
    for _ in range(3):
        assert_error(await anyone.get(HOOKS, headers=unknown), 401, "Bad credentials")
    assert_error(await anyone.get(HOOKS, headers=unknown), 403, TOO_MANY)
    # Tokens are too long to guess, so wrong tokens do not block a valid one from this address.
    assert (await anyone.get(HOOKS, headers=bearer(seed.token))).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("POST", f"{HOOKS}/9/dequeue", "application/json"),
        ("GET", "/rate_limit", "application/json"),
        ("POST", "/octo/hello/events/push", "application/json"),
        ("GET", "/octo/hello/events/push", "application/json"),
        ("POST", "/events", "application/x-ndjson"),
        ("POST", "/usage", "application/x-ndjson"),
        ("GET", "/admin/metrics", "application/json"),
        ("GET", "/openapi.json", "application/json"),
        ("GET", "/reference", "application/json"),
    ],
)
async def test_wrong_tokens_are_counted_at_every_endpoint(
    store: Store, seed: Any, settings: HubSettings, method: str, path: str, kind: str
) -> None:
    chosen = settings.model_copy(update={"websub": True})
    async with open_client(store, chosen) as client:
        client.event_hooks = {}
        unknown = {"Authorization": f"Bearer {tokens.new_value('personal')}", "Content-Type": kind}
        for _ in range(3):
            answer = await client.request(method, path, content=b"{}", headers=unknown)
            assert_error(answer, 401, "Bad credentials")
        answer = await client.request(method, path, content=b"{}", headers=unknown)
        assert_error(answer, 403, TOO_MANY)
        good = {"Authorization": f"Bearer {seed.token}", "Content-Type": "application/json"}
        accepted = await client.post("/octo/hello/events/push", content=b"{}", headers=good)
        assert accepted.status_code == 202


async def test_a_wrong_signature_is_no_wrong_token(store: Store, settings: HubSettings) -> None:
    headers = {"X-Hub-Signature-256": "sha256=00", "Authorization": "Bearer of-a-forge"}
    async with open_client(store, settings) as client:
        client.event_hooks = {}
        for _ in range(5):
            answer = await client.post("/events", content=b"{}", headers=headers)
            assert answer.status_code == 401


@pytest.fixture
def client_secret(store: Store, seed: Any) -> str:
    """The secret of an application whose client id is lab-client."""
    store.write_sync(
        lambda db: apps.create(
            db,
            seed.reader["id"],
            "Lab",
            url="https://lab.example/",
            client_id="lab-client",
            client_secret=SECRET,
        )
    )
    return SECRET


async def test_an_application_authenticates_by_its_secret(
    anyone: httpx.AsyncClient, client_secret: str, seed: Any
) -> None:
    path, body = "/applications/lab-client/token", {"access_token": "x"}
    for auth in (("lab-client", "wrong"), ("other", client_secret), ("octo", PASSWORD)):
        assert_error(await anyone.post(path, json=body, auth=auth), 401, "Bad credentials")
    assert_error(await anyone.post(path, json=body), 401, "Requires authentication")
    right = ("lab-client", client_secret)
    for _ in range(8):
        # An unknown token in the body is no failed login.
        assert_error(await anyone.post(path, json=body, auth=right), 404, "Not Found")
    answer = await anyone.post("/applications/other/token", json=body, auth=right)
    assert_error(answer, 404, "Not Found")
    assert_error(await anyone.post(path, json=body, headers=bearer(seed.token)), 403)


async def test_a_request_without_a_user_agent_is_refused(
    anyone: httpx.AsyncClient, seed: Any
) -> None:
    for path in (HOOKS, "/versions", "/nothing"):
        for agent in ("", None):
            request = anyone.build_request("GET", path)
            del request.headers["User-Agent"]
            if agent is not None:
                request.headers["User-Agent"] = agent
            content = assert_error(await anyone.send(request), 403)
            assert "User-Agent" in content["message"]
    header = {"User-Agent": "", "Authorization": f"token {seed.token}"}
    answer = await anyone.post("/octo/hello/events/push", json={}, headers=header)
    assert answer.status_code == 202


async def test_a_setting_allows_requests_without_a_user_agent(store: Store, seed: Any) -> None:
    async def judge(url: str) -> None: ...

    settings = HubSettings(base_url=BASE, require_user_agent=False)
    transport = httpx.ASGITransport(create_app(store, settings, judge))
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
        answer = await client.get("/versions", headers={"User-Agent": ""})
        assert answer.status_code == 200
    await store.close()


async def test_an_installation_s_token_lasts_an_hour(
    anyone: httpx.AsyncClient, store: Store, seed: Any, clock: MovableClock
) -> None:
    given = {"kind": "installation", "permissions": {"webhooks": "read"}}
    value, row = store.write_sync(lambda db: tokens.create(db, seed.octo["id"], **given))
    assert row["expires_at"] == clock.now() + 3600 * SECOND
    header = {"Authorization": f"token {value}"}
    clock.advance(3599)
    assert (await anyone.get(HOOKS, headers=header)).status_code == 200
    assert (await anyone.get("/user/emails", headers=header)).status_code == 403
    clock.advance(1)
    assert_error(await anyone.get(HOOKS, headers=header), 401, "Bad credentials")
    later = clock.now() + SECOND
    _, row = store.write_sync(
        lambda db: tokens.create(db, seed.octo["id"], **given, expires_at=later)
    )
    assert row["expires_at"] == later


@pytest.fixture
def guild(store: Store, seed: Any) -> int:
    """An organization with single sign-on, which octo administers, and its two repositories."""

    with transaction(store) as db:
        number: int = accounts.create(db, "guild", kind="Organization")["id"]
        accounts.join(db, number, seed.octo["id"], "admin")
        repositories.create(db, number, "hall")
        repositories.create(db, number, "cellar", private=True)
        sso.enforce(db, number, True)
        return number


async def test_a_token_needs_single_sign_on_of_its_organization(
    client: httpx.AsyncClient, store: Store, guild: int
) -> None:
    for name in ("hall", "cellar"):
        answer = await client.get(f"/repos/guild/{name}/hooks")
        content = assert_error(answer, 403)
        assert content["message"].startswith("Resource protected by organization SAML enforcement")
        url = "https://forge.example/orgs/guild/sso"
        assert answer.headers["X-Service-SSO"] == f"required; url={url}"
        assert (await client.post(f"/guild/{name}/events/push", json={})).status_code == 403
    # Public data needs no token, so it needs no single sign-on.
    assert (await client.get("/repos/guild/hall/subscribers")).status_code == 200
    assert (await client.get("/repos/guild/cellar/subscribers")).status_code == 403
    (row,) = [row for row in store.read_sync(tokens.list_all) if row["login"] == "octo"]
    assert store.write_sync(sso.authorize, row["id"], guild)
    assert not store.write_sync(sso.authorize, row["id"], guild)
    assert store.read_sync(sso.organizations, row["id"]) == ["guild"]
    for name in ("hall", "cellar"):
        assert (await client.get(f"/repos/guild/{name}/hooks")).status_code == 200


async def test_a_refusal_names_no_single_sign_on_to_outsiders(
    client: httpx.AsyncClient, seed: Any, guild: int
) -> None:
    header = {"Authorization": f"token {seed.reader_token}"}
    answer = await client.get("/repos/guild/cellar/hooks", headers=header)
    assert_error(answer, 404, "Not Found")
    assert "X-Service-SSO" not in answer.headers


async def test_single_sign_on_is_not_asked_of_everybody(
    client: httpx.AsyncClient, store: Store, guild: int
) -> None:
    given = {"kind": "installation", "permissions": {"webhooks": "read"}}
    value, _ = store.write_sync(lambda db: tokens.create(db, guild, **given))
    header = {"Authorization": f"token {value}"}
    assert (await client.get("/repos/guild/cellar/hooks", headers=header)).status_code == 200
    assert store.read_sync(sso.enforced, guild)
    store.write_sync(sso.enforce, guild, False)
    assert (await client.get("/repos/guild/cellar/hooks")).status_code == 200
