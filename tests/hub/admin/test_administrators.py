"""Access to the pages for administrators, and to the API's reference."""

import base64
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from bearer import bearer
from engines import open_furnished
from hub_client import judge

from hub.admin.observability import Observability
from hub.admin_settings import AdminSettings, place
from hub.app import create_admin_app, create_app
from hub.settings import HubSettings
from store import Connection, Store
from store.accounts import accounts, tokens
from store.errors import Unusable

LOCAL = "http://127.0.0.1:8765"
OURS = "a token for admins"
OUT: dict[str, Any] = {"peer": "192.0.2.1", "host": "http://hub.example"}


@asynccontextmanager
async def asked(
    store: Store,
    *,
    peer: str | None = "127.0.0.1",
    apart: bool = False,
    host: str = LOCAL,
    scope: Mapping[str, Any] | None = None,
    **given: Any,
) -> AsyncIterator[httpx.AsyncClient]:
    """Open a client of a hub, at the address `peer` (None: through a Unix socket).

    With `apart`, it is a client of the listener for administrators.
    """
    settings = HubSettings(**given)
    observability = Observability(store)
    if apart:
        app: Any = create_admin_app(store, settings, judge, observability, describes=True)
    else:
        app = create_app(store, settings, judge, observability=observability)

    async def run(at: Any, receive: Any, send: Any) -> None:
        if peer is None:
            at = {**at, "client": None, "server": None}
        await app({**at, **(scope or {})}, receive, send)

    transport = httpx.ASGITransport(run, client=(peer or "", 1))
    headers = {"User-Agent": "tests"}
    async with httpx.AsyncClient(transport=transport, base_url=host, headers=headers) as client:
        yield client
    await observability.close()


async def status(store: Store, path: str = "/metrics", **given: Any) -> int:
    headers = given.pop("headers", {})
    async with asked(store, **given) as client:
        return (await client.get(path, headers=headers)).status_code


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = open_furnished("sqlite", tmp_path)
    yield opened
    await opened.close()


class TestLocal:
    """By default, clients on this machine need no token, unless a proxy has sent the request."""

    @pytest.mark.parametrize(
        ("peer", "host"),
        [
            ("127.0.0.1", LOCAL),
            ("127.9.9.9", "http://localhost:8765"),
            ("::1", "http://[::1]:8765"),
            ("::ffff:127.0.0.1", "http://127.0.0.1"),
            (None, "http://localhost"),
        ],
    )
    async def test_requests_from_this_machine_are_accepted(
        self, store: Store, peer: str | None, host: str
    ) -> None:
        assert await status(store, peer=peer, host=host) == 200

    @pytest.mark.parametrize("peer", ["192.0.2.1", "10.0.0.1", "::2", "2001:db8::1", "nonsense"])
    async def test_a_request_from_another_machine_needs_a_token(
        self, store: Store, peer: str
    ) -> None:
        assert await status(store, peer=peer) == 401

    @pytest.mark.parametrize("apart", [False, True])
    @pytest.mark.parametrize("peer", ["127.0.0.1", None])
    async def test_a_proxied_request_is_not_local(
        self, store: Store, apart: bool, peer: str | None
    ) -> None:
        names = [
            "X-Forwarded-For", "X-Forwarded-Proto", "x-forwarded-host", "Forwarded", "Via",
            "X-Real-IP", "CF-Connecting-IP", "True-Client-IP", "X-Client-IP",
        ]  # fmt: skip
        async with asked(store, peer=peer, apart=apart) as client:
            assert (await client.get("/metrics")).status_code == 200
            for name in names:
                for value in ("127.0.0.1", "192.0.2.1", ""):
                    answer = await client.get("/metrics", headers={name: value})
                    assert answer.status_code == 401, name

    async def test_a_proxy_that_says_nothing_speaks_an_older_http(self, store: Store) -> None:
        assert await status(store, scope={"http_version": "1.0"}) == 401

    @pytest.mark.parametrize("host", ["http://evil.example", "http://127.0.0.1.evil.example"])
    async def test_a_name_that_leads_to_this_machine_is_refused(
        self, store: Store, host: str
    ) -> None:
        assert await status(store, host=host) == 401
        assert await status(store, host=host, apart=True) == 401

    @pytest.mark.parametrize(
        "given",
        [
            {"base_url": "https://forge.example/api/v3"},
            {"trusted_proxies": ["127.0.0.0/8"]},
            {"trusted_proxies": ["192.0.2.0/24"]},
        ],
    )
    async def test_an_api_behind_a_proxy_has_no_local_administrators(
        self, store: Store, given: dict[str, Any]
    ) -> None:
        assert await status(store, **given) == 401
        assert await status(store, peer=None, host="http://localhost", **given) == 401
        assert await status(store, apart=True, **given) == 200

    async def test_a_trusted_proxy_cannot_forward_a_local_address(self, store: Store) -> None:
        headers = {"X-Forwarded-For": "127.0.0.1"}
        given = {"trusted_proxies": ["192.0.2.0/24"]}
        assert await status(store, peer="192.0.2.1", headers=headers, **given) == 401

    async def test_a_connection_that_is_gone_is_no_socket_of_the_file_system(
        self, store: Store
    ) -> None:
        gone = {"client": None, "server": ("127.0.0.1", 8765)}
        assert await status(store, scope=gone) == 401


@pytest.fixture
def by_file(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "admin.token"
    path.write_text(f"{OURS}\n")
    return {"admin_token_file": path}


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"prometheus:{password}".encode()).decode()


class TestToken:
    """A valid token gives access from any address."""

    @pytest.mark.parametrize("access", ["local", "token"])
    @pytest.mark.parametrize("filed", [False, True])
    async def test_the_configured_token_is_accepted(
        self, store: Store, by_file: dict[str, Any], access: str, filed: bool
    ) -> None:
        given = by_file if filed else {"admin_token": OURS}
        async with asked(store, admin_access=access, **OUT, **given) as client:
            for form in (f"Bearer {OURS}", f"token {OURS}", f"bearer {OURS}"):
                answer = await client.get("/metrics", headers={"Authorization": form})
                assert answer.status_code == 200

    async def test_the_token_can_be_sent_as_a_password(self, store: Store) -> None:
        headers = {"Authorization": basic(OURS)}
        assert await status(store, headers=headers, admin_token=OURS, **OUT) == 200

    async def test_a_wrong_token_is_rejected(self, store: Store) -> None:
        wrong = [OURS[:-1], OURS + "x", OURS.upper(), "", "\xe9" * 20, "x" * 5000]
        forms = [f"Bearer {one}" for one in wrong] + ["Bearer", "Digest x", "Basic ???", "x", ""]
        for given in (OUT, {}):
            async with asked(store, admin_token=OURS, **given) as client:
                for form in forms:
                    headers = {"Authorization": form.encode("latin-1")}
                    answer = await client.get("/metrics", headers=headers)
                    assert answer.status_code == 401, form

    async def test_a_setting_makes_the_token_required(self, store: Store) -> None:
        assert await status(store, admin_access="token", admin_token=OURS) == 401
        assert await status(store, admin_access="token", admin_token=OURS, apart=True) == 401

    async def test_a_site_administrators(self, store: Store) -> None:
        value = store.write_sync(site_admin)
        assert await status(store, headers=bearer(value), **OUT) == 200

    @pytest.mark.parametrize("scopes", [[], ["read:org"], ["repo", "admin:org", "user"]])
    async def test_a_site_administrators_for_something_else(
        self, store: Store, scopes: list[str]
    ) -> None:
        headers = bearer(store.write_sync(site_admin, scopes=scopes))
        for path in ("/metrics", "/readyz?verbose", "/openapi.json"):
            given = {"api_reference": "admin", **OUT}
            assert await status(store, path, headers=headers, **given) == 403
            # A client on this machine is refused, too, if its token does not suffice.
            assert await status(store, path, headers=headers, api_reference="admin") == 403

    @pytest.mark.parametrize("kind", ["fine_grained", "oauth", "app_user", "installation"])
    async def test_other_kinds_of_token_are_refused(self, store: Store, kind: str) -> None:
        value = store.write_sync(lambda db: site_admin(db, kind=kind))
        assert await status(store, headers=bearer(value), **OUT) == 401

    async def test_the_token_of_a_user_is_rejected(self, store: Store) -> None:
        value = store.write_sync(lambda db: tokens.create(db, accounts.create(db, "eve")["id"])[0])
        for given in (OUT, {}):
            assert await status(store, headers=bearer(value), **given) == 401

    async def test_guessing_is_ended(self, store: Store) -> None:
        given = {"failed_tokens": 3, "admin_token": OURS, **OUT}
        async with asked(store, **given) as client:
            seen = []
            for _ in range(5):
                wrong = bearer(tokens.new_value("personal"))
                seen.append((await client.get("/metrics", headers=wrong)).status_code)
            assert seen == [401, 401, 401, 403, 403]
            answer = await client.get("/metrics", headers=bearer(OURS))
        assert 'tocsin_failed_logins_total{kind="admin"} 3.0' in answer.text
        assert 'tocsin_failed_logins_total{kind="blocked"} 2.0' in answer.text

    async def test_the_refusal_names_the_ways_to_authenticate(self, store: Store) -> None:
        async with asked(store, **OUT) as client:
            answer = await client.get("/metrics")
        assert answer.headers.get_list("www-authenticate") == [
            'Bearer realm="tocsin"',
            'Basic realm="tocsin", charset="UTF-8"',
        ]
        assert "admin_access" in answer.json()["message"]


def site_admin(
    db: Connection, kind: str = "personal", scopes: Iterable[str] = ("read:enterprise",)
) -> str:
    account = accounts.create(db, "root", site_admin=True)
    held = scopes if kind in tokens.SCOPED else ()
    return tokens.create(db, account["id"], kind=kind, scopes=held)[0]


async def test_a_setting_opens_the_listener_to_everybody(store: Store) -> None:
    for headers in ({}, {"Authorization": "Bearer x"}, {"X-Forwarded-For": "192.0.2.1"}):
        assert await status(store, peer="192.0.2.1", admin_access="anybody", headers=headers) == 200


class TestApart:
    """If administrators have a separate listener, the API's listener serves only probes to them."""

    async def test_beside_the_api_there_are_probes_alone(self, store: Store) -> None:
        given = {"admin_bind": "127.0.0.1:9186", "admin_token": OURS}
        async with asked(store, **given) as client:
            assert (await client.get("/metrics")).status_code == 404
            for path in ("/healthz", "/readyz"):
                assert (await client.get(path)).status_code in (200, 503)
                answer = await client.get(f"{path}?verbose")
                assert answer.status_code == 404
                assert "checks" not in answer.text

    async def test_the_listener_serves_no_other_pages(self, store: Store) -> None:
        async with asked(store, apart=True) as client:
            for path in ("/versions", "/openapi.json", "/docs", "/", "/hub"):
                assert (await client.get(path)).status_code == 404


PATHS = ("/openapi.json", "/reference", "/reference/repos", "/reference/schemas/Hook")


class TestReference:
    @pytest.fixture
    def user(self, store: Store) -> dict[str, str]:
        value = store.write_sync(lambda db: tokens.create(db, accounts.create(db, "eve")["id"])[0])
        return bearer(value)

    @pytest.mark.parametrize(
        ("setting", "expected"),
        [
            ("public", (200, 200, 200, 200)), ("users", (401, 200, 200, 200)),
            # With `off`, the API checks the token before it answers 404. It does not know this one.
            ("admin", (401, 401, 200, 200)), ("off", (404, 404, 401, 404)),
        ],
    )  # fmt: skip
    async def test_the_setting_decides_the_reference_s_readers(
        self, store: Store, user: dict[str, str], setting: str, expected: tuple[int, ...]
    ) -> None:
        given = {"api_reference": setting, "admin_token": OURS}
        ours = bearer(OURS)
        async with asked(store, **given, **OUT) as outside, asked(store, **given) as local:
            for path in PATHS:
                answers = [await outside.get(path, headers=one) for one in ({}, user, ours)]
                answers.append(await local.get(path))
                assert tuple(answer.status_code for answer in answers) == expected, path

    async def test_the_reference_is_not_public_by_default(self, store: Store) -> None:
        assert HubSettings().api_reference == "users"
        assert await status(store, "/openapi.json", **OUT) == 401

    async def test_a_wrong_token_is_refused(self, store: Store) -> None:
        wrong = bearer(tokens.new_value("personal"))
        assert await status(store, "/openapi.json", headers=wrong) == 401

    async def test_the_reference_moves_to_the_administrators_listener(self, store: Store) -> None:
        given = {"api_reference": "admin", "admin_bind": "127.0.0.1:9186"}
        assert await status(store, "/openapi.json", **given) == 404
        assert await status(store, "/openapi.json", apart=True, **given) == 200

    async def test_the_moved_reference_loads_its_styles_from_its_own_listener(
        self, store: Store
    ) -> None:
        given = {"api_reference": "admin", "admin_bind": "127.0.0.1:9186"}
        async with asked(store, apart=True, **given) as client:
            page = await client.get("/reference")
            assert "/ui" not in page.text
            for style in re.findall(r'<link[^>]* href="([^"]+)"', page.text):
                assert (await client.get(f"/{style}")).status_code == 200

    async def test_the_manual_does_not_lead_to_a_reference_that_is_off(self, store: Store) -> None:
        async with asked(store, api_reference="off") as client:
            assert 'href="reference"' not in (await client.get("/docs")).text

    async def test_a_browser_without_a_token_is_sent_to_the_dashboard(self, store: Store) -> None:
        browser = {"Accept": "text/html,*/*;q=0.8"}
        async with asked(store, **OUT) as client:
            answer = await client.get("/reference/schemas/Hook", headers=browser)
            assert answer.status_code == 303
            assert answer.headers["Location"] == "/ui/reference/schemas/Hook"
            # A decoded line break would end the connection without an answer.
            for name in ("a%0D%0AX:%20y", "a%00", "%E2%82%AC", "a%2Fb"):
                answer = await client.get(f"/reference/{name}", headers=browser)
                assert answer.headers["Location"] == f"/ui/reference/{name}"
            wrong = {**browser, "Authorization": "Bearer wrong"}
            assert (await client.get("/reference", headers=wrong)).status_code == 401


class TestSettings:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("127.0.0.1:9186", ("127.0.0.1", 9186)),
            ("[::1]:9186", ("::1", 9186)),
            ("metrics.internal:0", ("metrics.internal", 0)),
            ("unix:/run/tocsin/admin.sock", Path("/run/tocsin/admin.sock")),
        ],
    )
    def test_addresses_to_bind(self, text: str, found: object) -> None:
        assert place(text) == found

    @pytest.mark.parametrize(
        "text", ["", "9186", ":9186", "::1:9186", "host:99999", "unix:relative", "a b:1", "[::1]"]
    )
    def test_bad_addresses_to_bind(self, text: str) -> None:
        with pytest.raises(ValueError, match="must be host:port"):
            AdminSettings(admin_bind=text)

    def test_a_short_token_is_refused(self) -> None:
        with pytest.raises(ValueError, match="at least 16"):
            AdminSettings(admin_token="short")

    def test_a_token_is_not_shown(self) -> None:
        settings = AdminSettings(admin_token=OURS)
        assert OURS not in repr(settings) + settings.model_dump_json()

    @pytest.mark.parametrize("content", [None, b"", b"short", b"\xff" * 20])
    async def test_a_file_without_a_token_is_refused(
        self, store: Store, tmp_path: Path, content: bytes | None
    ) -> None:
        path = tmp_path / "token"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(Unusable, match="admin_token_file"):
            await status(store, admin_token_file=path)
