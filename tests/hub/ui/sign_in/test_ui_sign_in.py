"""Signing in to the dashboard, the end of sessions, and the headers of every page."""

import html
import re
from typing import Any
from urllib import parse

import pytest
from dashboard_client import SAME, open_dashboard, text_of
from engines import embedded
from transactions import transaction

from hub.auth import rate_limits
from hub.ui import cookies
from hub.ui.headers import POLICY
from store import Connection, Store
from store.accounts import accounts, apps, grants, sessions, tokens
from store.apps import installation_tokens, installations
from store.audit import audit_log
from store.clock import SECOND, MovableClock
from store.errors import Unavailable

ADMIN = "the administrators' token"


@embedded("other tests here check stored sessions on every engine")
@pytest.mark.parametrize(
    "path", ["/ui", "/ui?a=1", f"/ui/replay?hook={'%2C'.join(map(str, range(10_000, 10_500)))}"]
)
async def test_a_sign_in_leads_back_to_the_requested_page(
    store: Store, seed: Any, path: str
) -> None:
    async with open_dashboard(store) as browser:
        answer = await browser.get(path)
        assert answer.status_code == 303
        door = answer.headers["location"]
        assert door == f"/ui/sign-in?next={parse.quote(path, safe='')}"
        assert (await browser.client.head(path)).headers["location"] == door
        page = await browser.page(door)
        assert "tocsin user add ada" in page
        (wanted,) = re.findall(r'name="next" value="([^"]*)"', page)[-1:]
        answer = await browser.post("/ui/sign-in", {"token": seed.token, "next": wanted}, on=door)
        assert (answer.status_code, answer.headers["location"]) == (303, path)
        assert "octo" in text_of(await browser.page(path))


@embedded("other tests here check stored sessions on every engine")
async def test_an_action_without_a_session_says_that_nothing_changed(
    store: Store, seed: Any
) -> None:
    async with open_dashboard(store) as browser:
        for headers, name in (({}, "location"), ({"HX-Request": "true"}, "hx-redirect")):
            answer = await browser.post("/ui/retry", on="/ui/sign-in", headers=headers)
            assert answer.headers[name] == "/ui/sign-in?ended=1"
        said = "You are signed out, and nothing was changed. Sign in and repeat it."
        assert said in text_of(await browser.page("/ui/sign-in?ended=1"))
        assert said not in text_of(await browser.page("/ui/sign-in"))


@embedded("other tests here check stored sessions on every engine")
async def test_a_link_from_another_site_is_followed_once_more_by_us(
    store: Store, seed: Any
) -> None:
    async with open_dashboard(store) as browser:
        answer = await browser.get("/ui", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 200
    assert 'http-equiv="refresh"' in answer.text


@embedded("other tests here check stored sessions on every engine")
@pytest.mark.parametrize(
    "wanted", ["//evil.example", "https://evil.example/ui", "/uix", "/ui\\@evil", "/ui/a\n", ""]
)
async def test_one_is_led_nowhere_else(store: Store, seed: Any, wanted: str) -> None:
    async with open_dashboard(store) as browser:
        form = {"token": seed.token, "next": wanted}
        answer = await browser.post("/ui/sign-in", form, on="/ui/sign-in")
    assert answer.headers["location"] == "/ui"


@embedded("other tests here check stored sessions on every engine")
async def test_one_user_acts_so_many_times_in_a_minute(
    store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each action is in the audit log. A token of few rights must not fill the disk."""
    monkeypatch.setattr(rate_limits, "ACTIONS_PER_MINUTE", 2)
    form = {"page": "/ui/hooks", "query": "", "name": "Mine"}
    async with open_dashboard(store) as browser:
        statuses = [
            (await browser.enter(seed.reader_token)).status_code,
            (await browser.post("/ui/views", form)).status_code,
            (await browser.post("/ui/views", form)).status_code,
            (await browser.enter(seed.reader_token)).status_code,
            (await browser.enter(seed.token)).status_code,
        ]
    assert statuses == [303, 303, 403, 403, 303]


@embedded("other tests here check stored sessions on every engine")
async def test_the_cookie_is_confined_to_the_dashboard(store: Store, seed: Any) -> None:
    async with open_dashboard(store) as browser:
        plain = (await browser.sign_in(seed.token)).headers.get_list("set-cookie")
    (session,) = [one for one in plain if one.startswith("tocsin_ui=")]
    assert re.fullmatch(r"tocsin_ui=[\w-]{43}; Path=/ui; HttpOnly; SameSite=Strict", session)
    assert seed.token not in str(plain)


@embedded("other tests here check stored sessions on every engine")
@pytest.mark.parametrize("origin", ["http://[", "x", "", "http://a]b"])
async def test_an_origin_that_is_no_url_is_no_error(store: Store, seed: Any, origin: str) -> None:
    async with open_dashboard(store, base_url="https://other.example/api/v3") as browser:
        answer = await browser.get("/ui/sign-in", headers={"Origin": origin})
    assert answer.status_code == 200


@embedded("other tests here check stored sessions on every engine")
async def test_cookies_are_secure_under_https(store: Store, seed: Any) -> None:
    base = "https://hooks.example/api/v3"
    async with open_dashboard(store, host="https://hooks.example", base_url=base) as browser:
        answer = await browser.post(
            "/ui/sign-in",
            {"token": seed.token},
            on="/ui/sign-in",
            headers={"Origin": "https://hooks.example"},
        )
    assert answer.status_code == 303
    assert all("; Secure" in one for one in answer.headers.get_list("set-cookie"))


@embedded("other tests here check stored sessions on every engine")
@pytest.mark.parametrize("host", ["hooks.example:443", "127.0.0.1:8765"])
async def test_forms_pass_a_proxy_that_writes_the_host_in_another_way(
    store: Store, seed: Any, host: str
) -> None:
    ours = "https://hooks.example"
    async with open_dashboard(store, host=ours, base_url=ours) as browser:
        browser.client.headers["Host"] = host
        form, on = {"token": seed.token}, "/ui/sign-in"
        answer = await browser.post("/ui/sign-in", form, on=on, headers={"Origin": ours})
        another = {"Origin": "https://hooks.example:1"}
        assert (await browser.post("/ui/sign-out", headers=another)).status_code == 403
    assert answer.status_code == 303
    assert all("; Secure" in one for one in answer.headers.get_list("set-cookie"))


@embedded("other tests here check stored sessions on every engine")
@pytest.mark.parametrize(
    ("passed", "base"),
    [
        ("http://127.0.0.1:8765", "https://hooks.example"),
        ("http://hooks.example", "https://hooks.example:8443/api/v3"),
        ("https://hooks.example", "https://Hooks.Example"),
    ],
    ids=["host of the hub", "host without a port", "capitals"],
)
async def test_the_configured_origin_is_right_with_any_host_from_a_proxy(
    store: Store, seed: Any, passed: str, base: str
) -> None:
    browser_says = {"Origin": base.removesuffix("/api/v3").lower(), "Sec-Fetch-Site": "same-origin"}
    form = {"token": seed.token}
    async with open_dashboard(store, host=passed, base_url=base) as browser:
        answer = await browser.post("/ui/sign-in", form, on="/ui/sign-in", headers=browser_says)
        assert answer.status_code == 303
        assert all("; Secure" in one for one in answer.headers.get_list("set-cookie"))
        foreign = browser_says | {"Origin": "https://evil.example"}
        refused = await browser.post("/ui/sign-in", form, on="/ui/sign-in", headers=foreign)
        assert refused.status_code == 403


@embedded("other tests here check stored sessions on every engine")
async def test_without_a_configured_origin_the_host_decides(store: Store, seed: Any) -> None:
    ours = {"Origin": "http://127.0.0.1:8765", "Sec-Fetch-Site": "same-origin"}
    async with open_dashboard(store, host="http://hooks.example") as browser:
        form = {"token": seed.token}
        answer = await browser.post("/ui/sign-in", form, on="/ui/sign-in", headers=ours)
    assert answer.status_code == 403


async def test_the_store_keeps_only_the_digest_of_the_cookie(store: Store, seed: Any) -> None:
    async with open_dashboard(store, seed.token) as browser:
        value = browser.client.cookies["tocsin_ui"]
        rows = store.read_sync(lambda db: db.all("SELECT * FROM ui_session"))
    assert [row["id"] for row in rows] == [tokens.digest(value)]
    assert value not in str(rows)


@embedded("other tests here check stored sessions on every engine")
@pytest.mark.parametrize(
    "value",
    ["", "nonsense", "tsp_" + "a" * 36, tokens.new_value("personal"), "é" * 40],
    ids=["none", "nonsense", "unknown", "well-formed", "not-ascii"],
)
async def test_a_wrong_token_is_refused(store: Store, seed: Any, value: str) -> None:
    async with open_dashboard(store) as browser:
        answer = await browser.sign_in(value)
        assert answer.status_code == 401
        assert "No such token" in text_of(answer.text)
        assert (await browser.get("/ui")).status_code == 303


@embedded("no form with a NUL reaches the database")
async def test_a_nul_in_a_form_is_refused(store: Store, seed: Any) -> None:
    async with open_dashboard(store) as browser:
        answer = await browser.sign_in("\0")
        assert answer.status_code == 400
        assert "must not hold a NUL" in text_of(answer.text)


@embedded("other tests here check stored sessions on every engine")
async def test_guessing_is_ended(store: Store, seed: Any) -> None:
    async with open_dashboard(store, failed_tokens=3) as browser:
        seen = [(await browser.sign_in("nonsense")).status_code for _ in range(5)]
        assert seen == [401, 401, 401, 403, 403]
        assert (await browser.sign_in(seed.token)).status_code == 303


async def test_signing_out_ends_the_session(store: Store, seed: Any) -> None:
    async with open_dashboard(store, seed.token) as browser:
        kept = dict(browser.client.cookies)
        answer = await browser.post("/ui/sign-out")
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/sign-in")
        browser.client.cookies.update(kept)
        assert (await browser.get("/ui")).status_code == 303


async def test_another_sign_in_ends_the_browser_s_session(store: Store, seed: Any) -> None:
    async with open_dashboard(store, seed.token) as browser:
        former = dict(browser.client.cookies)
        assert (await browser.sign_in(seed.reader_token)).status_code == 303
        assert "reader" in text_of(await browser.page("/ui"))
        browser.client.cookies.clear()
        browser.client.cookies.update(former)
        assert (await browser.get("/ui")).status_code == 303


async def test_the_browser_s_session_makes_room_for_its_next_one(
    store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST", 2)
    row = store.read_sync(tokens.find, seed.token)
    assert row is not None
    other = store.write_sync(sessions.begin, token_id=row["id"])
    store.write_sync(lambda db: db.execute("UPDATE ui_session SET seen_at = seen_at - 1"))
    async with open_dashboard(store, seed.token) as browser:
        assert (await browser.sign_in(seed.token)).status_code == 303
        assert store.read_sync(sessions.find, other, 3600 * SECOND) is not None


async def test_a_session_ends_with_its_token(store: Store, seed: Any) -> None:
    async with open_dashboard(store, seed.token) as browser:
        await browser.page("/ui")
        store.write_sync(lambda db: db.execute("DELETE FROM token"))
        assert (await browser.get("/ui")).status_code == 303
        assert store.read_sync(lambda db: db.value("SELECT count(*) FROM ui_session")) == 0


async def test_another_value_of_the_token_is_another_token(store: Store, seed: Any) -> None:
    async with open_dashboard(store, seed.token) as browser:
        store.write_sync(lambda db: db.execute("UPDATE token SET hash = 'x' || hash"))
        assert (await browser.get("/ui")).status_code == 303


async def test_a_session_ends_when_its_token_expires(
    store: Store, seed: Any, clock: MovableClock
) -> None:
    def make(db: Connection) -> str:
        return tokens.create(db, seed.octo["id"], expires_at=db.now + 100 * SECOND)[0]

    async with open_dashboard(store, store.write_sync(make)) as browser:
        clock.advance(seconds=99)
        await browser.page("/ui")
        clock.advance(seconds=2)
        assert (await browser.get("/ui")).status_code == 303


async def test_sessions_of_a_suspended_installation_are_refused(store: Store, seed: Any) -> None:
    with transaction(store) as db:
        given = {"url": "https://mill.example/", "permissions": {"repository_hooks": "write"}}
        _, app = apps.create(db, seed.octo["id"], "Mill", kind="integration", **given)
        installation = installations.create(db, app, seed.octo)
        installation, token = installation, installation_tokens.create(db, installation)[0]
    async with open_dashboard(store, token) as browser:
        await browser.page("/ui")
        async with browser.listening("/ui/deliveries/live") as heard:
            await heard.until("begin")
            store.write_sync(installations.suspend, installation)
            assert (await browser.get("/ui")).status_code == 303
            assert "event: ended" in await heard.until("ended")
        refused = await browser.sign_in(token)
        assert refused.status_code == 403
        assert "This installation has been suspended" in text_of(refused.text)
        store.write_sync(installations.unsuspend, installation)
        await browser.page("/ui")


async def test_a_session_ends_unused_and_after_a_week(
    store: Store, seed: Any, clock: MovableClock
) -> None:
    async with open_dashboard(store, seed.token, ui_idle=3600, last=False) as browser:
        for _ in range(3):
            clock.advance(seconds=3000)
            await browser.page("/ui")
        clock.advance(seconds=3601)
        assert (await browser.get("/ui")).status_code == 303
    async with open_dashboard(store, seed.token, ui_idle=10**7) as browser:
        clock.advance(seconds=7 * 86_400 + 1)
        assert (await browser.get("/ui")).status_code == 303


@pytest.mark.parametrize("idle", [60, 400])
async def test_a_session_in_use_does_not_end(
    store: Store, seed: Any, clock: MovableClock, idle: int
) -> None:
    async with open_dashboard(store, seed.token, ui_idle=idle) as browser:
        for _ in range(6):
            clock.advance(seconds=idle * 3 // 4)
            await browser.page("/ui")


async def test_a_page_that_is_renewed_by_itself_is_no_use_of_the_session(
    store: Store, seed: Any, clock: MovableClock
) -> None:
    async with open_dashboard(store, seed.token, ui_idle=3600) as browser:
        clock.advance(seconds=3000)
        answer = await browser.get("/ui/replay", headers={"X-Renewal": "1"})
        assert answer.status_code == 200
        clock.advance(seconds=601)
        assert (await browser.get("/ui")).status_code == 303


async def test_the_administrators_token(store: Store, seed: Any) -> None:
    async with open_dashboard(store, ADMIN, admin_token=ADMIN, last=False) as browser:
        assert "administrator" in text_of(await browser.page("/ui"))
        cookies = dict(browser.client.cookies)
    async with open_dashboard(store, admin_token="another one, as long") as browser:
        browser.client.cookies.update(cookies)
        assert (await browser.get("/ui")).status_code == 303


async def test_operators_are_administrators_with_an_enterprise_scope(store: Store) -> None:
    root = store.write_sync(lambda db: accounts.create(db, "root", site_admin=True))

    def make(db: Connection, kind: str, scopes: list[str]) -> str:
        return tokens.create(db, root["id"], kind=kind, scopes=scopes)[0]

    async with open_dashboard(store) as browser:
        for kind, scopes, expected in (
            ("personal", ["read:enterprise"], True),
            ("personal", ["admin:enterprise"], True),
            ("personal", ["admin:org"], False),
            ("personal", ["repo"], False),
            ("fine_grained", [], False),
            ("oauth", ["admin:enterprise"], False),
        ):
            browser.client.cookies.clear()
            await browser.sign_in(store.write_sync(make, kind, scopes))
            assert ("operator" in text_of(await browser.page("/ui"))) is expected


@embedded("other tests here check stored sessions on every engine")
class TestForgery:
    """The dashboard rejects a request that another site made the browser send."""

    @pytest.mark.parametrize(
        "headers",
        [
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Sec-Fetch-Site": "none"},
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Origin": "http://127.0.0.1:9999"},
        ],
    )
    async def test_a_post_from_another_site_is_refused(
        self, store: Store, seed: Any, headers: dict[str, str]
    ) -> None:
        async with open_dashboard(store, seed.token) as browser:
            answer = await browser.post("/ui/sign-out", headers=headers)
            assert answer.status_code == 403
            assert "did not come from a page of this dashboard" in (text := text_of(answer.text))
            assert "Sign in with a token" not in text
            await browser.page("/ui")

    @pytest.mark.parametrize("given", ["", "0" * 64, "é", None])
    async def test_a_post_without_the_csrf_token_is_refused(
        self, store: Store, seed: Any, given: str | None
    ) -> None:
        async with open_dashboard(store, seed.token) as browser:
            form = {} if given is None else {"csrf": given}
            answer = await browser.client.post("/ui/sign-out", data=form, headers=SAME)
            assert answer.status_code == 403
            assert "out of date" in (text := text_of(answer.text))
            assert "Sign in with a token" not in text
            await browser.page("/ui")

    async def test_a_browser_without_cookies_reads_the_reason(
        self, store: Store, seed: Any
    ) -> None:
        async with open_dashboard(store) as browser:
            (given, *_) = re.findall(
                r'name="csrf" value="(\w+)"', await browser.page("/ui/sign-in")
            )
            browser.client.cookies.clear()
            form = {"token": seed.token, "csrf": given}
            answer = await browser.client.post("/ui/sign-in", data=form, headers=SAME)
            assert answer.status_code == 403
            assert "The browser sent no cookie" in text_of(answer.text)

    async def test_a_forged_sign_in_is_refused(self, store: Store, seed: Any) -> None:
        async with open_dashboard(store) as browser:
            form = {"token": seed.token, "csrf": "0" * 64}
            answer = await browser.client.post("/ui/sign-in", data=form, headers=SAME)
            assert answer.status_code == 403
            assert "tocsin_ui" not in browser.client.cookies

    async def test_the_csrf_token_of_another_session_is_refused(
        self, store: Store, seed: Any
    ) -> None:
        async with open_dashboard(store, seed.token) as browser:
            page = await browser.page("/ui")
            (theirs, *_) = re.findall(r'name="csrf" value="(\w+)"', page)
            browser.client.cookies.clear()
            await browser.sign_in(seed.reader_token)
            answer = await browser.client.post("/ui/sign-out", data={"csrf": theirs}, headers=SAME)
            assert answer.status_code == 403

    async def test_no_sign_out_by_get(self, store: Store, seed: Any) -> None:
        async with open_dashboard(store, seed.token) as browser:
            assert (await browser.get("/ui/sign-out")).status_code == 404
            await browser.page("/ui")


@embedded("other tests here check stored sessions on every engine")
class TestEveryPage:
    async def test_the_sign_in_page_has_its_headers(self, store: Store, seed: Any) -> None:
        async with open_dashboard(store, seed.token) as browser:
            for path in ("/ui", "/ui/sign-in", "/ui/nowhere"):
                answer = await browser.get(path)
                assert answer.headers["content-security-policy"] == POLICY.decode()
                assert answer.headers["cache-control"] == "private, no-store"
                assert answer.headers["x-content-type-options"] == "nosniff"
                assert answer.headers["referrer-policy"] == "same-origin"
                assert answer.headers["content-type"] == "text/html; charset=utf-8"

    async def test_a_page_loads_only_files_of_the_hub(self, store: Store, seed: Any) -> None:
        async with open_dashboard(store, seed.token) as browser:
            page = await browser.page("/ui")
            loaded = re.findall(r'<(?:script|link|img)[^>]*?(?:src|href)="([^"]+)"', page)
            assert len(loaded) >= 5
            for path in loaded:
                assert path.startswith("/ui/static/")
                answer = await browser.get(path)
                assert answer.status_code == 200
                assert "immutable" in answer.headers["cache-control"]
            assert "style=" not in page
            assert not re.search(r"<style|<script(?![^>]*src=)|\son\w+=", page)

    @pytest.mark.parametrize("path", ["0/tocsin.css", "0/../serve.py", "%2e%2e/serve.py", "a/b"])
    async def test_other_files_are_not_served(self, store: Store, seed: Any, path: str) -> None:
        async with open_dashboard(store) as browser:
            assert (await browser.get(f"/ui/static/{path}")).status_code == 404

    async def test_an_unknown_page_is_answered_with_404(self, store: Store, seed: Any) -> None:
        async with open_dashboard(store, seed.token) as browser:
            answer = await browser.get("/ui/<script>")
            assert answer.status_code == 404
            assert "<script>" not in answer.text.replace("<script src", "")

    @pytest.mark.parametrize(
        ("path", "reason"),
        [
            ("/ui/shared?link=x", "This link: it has expired or was revoked."),
            ("/ui/imports", "Import: the setting imports is off."),
            ("/ui/problem?host=x&kind=y", "Problem: it may have ended."),
        ],
    )
    async def test_a_missing_page_gives_the_reason(
        self, store: Store, seed: Any, path: str, reason: str
    ) -> None:
        async with open_dashboard(store, seed.token, imports=False) as browser:
            answer = await browser.get(path)
            assert answer.status_code == 404
            assert reason in (text := text_of(answer.text))
            assert "also by retention" not in text

    async def test_an_unknown_page_does_not_repeat_its_title(self, store: Store, seed: Any) -> None:
        async with open_dashboard(store, seed.token) as browser:
            answer = await browser.get("/ui/hooks/99")
            assert text_of(answer.text).lower().count("not found") == 2  # the tab's title, the head

    async def test_an_error_of_input_names_no_log(self, store: Store, seed: Any) -> None:
        async with open_dashboard(store, seed.token) as browser:
            answer = await browser.post("/ui/retry")
            assert answer.status_code == 422
            assert "Select at least one delivery" in (text := text_of(answer.text))
            assert "in the log" not in text

    async def test_the_theme_is_kept(self, store: Store, seed: Any) -> None:
        async with open_dashboard(store, seed.token) as browser:
            assert 'data-theme="auto"' in await browser.page("/ui")
            answer = await browser.post("/ui/theme", {"theme": "dark", "next": "/ui"})
            assert answer.headers["location"] == "/ui"
            assert 'data-theme="dark"' in await browser.page("/ui")
            assert (await browser.post("/ui/theme", {"theme": "x"})).status_code == 403

    async def test_a_change_of_the_theme_keeps_the_filters(self, store: Store, seed: Any) -> None:
        async with open_dashboard(store, seed.token) as browser:
            place = "/ui/deliveries?status=failure&event=push"
            page = await browser.page(place)
            assert f'name="next" value="{html.escape(place)}"' in page
            answer = await browser.post("/ui/theme", {"theme": "dark", "next": place})
            assert answer.headers["location"] == place

    async def test_a_change_of_the_theme_leads_to_no_page_that_only_a_form_makes(
        self, store: Store, seed: Any
    ) -> None:
        async with open_dashboard(store, seed.token) as browser:
            page = await browser.post("/ui/retry")
            assert 'name="next" value="/ui"' in page.text
            page = await browser.post("/ui/sign-in", {"token": "wrong"}, on="/ui/sign-in")
            assert 'name="theme"' in page.text
            assert 'value="/ui/sign-in"' not in page.text

    async def test_unreadable_cookies_are_ignored(self, store: Store, seed: Any) -> None:
        async with open_dashboard(store) as browser:
            for cookie in ('"', "tocsin_ui=;;;", "a b=c", "tocsin_ui=%ff%00", "=" * 5000):
                answer = await browser.get("/ui", headers={"Cookie": cookie})
                assert answer.status_code == 303, cookie

    async def test_only_the_dashboard_s_own_cookies_are_read(
        self, store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        decoded: list[str] = []

        def unquote(text: str) -> str:
            decoded.append(text)
            return parse.unquote(text)

        monkeypatch.setattr(cookies, "unquote", unquote)
        long = 'a="' + '\\"' * 1000 + '"'
        async with open_dashboard(store) as browser:
            cookie = f"tocsin_ui_theme=%64ark; {long}; b==;c"
            answer = await browser.get("/ui/sign-in", headers={"Cookie": cookie})
        assert 'data-theme="dark"' in answer.text
        assert {*decoded} == {"%64ark"}


@embedded("other tests here check stored sessions on every engine")
async def test_the_dashboard_can_be_switched_off(store: Store, seed: Any) -> None:
    async with open_dashboard(store, ui=False) as browser:
        for path in ("/ui", "/ui/sign-in", "/ui/static/0/tocsin.css"):
            assert (await browser.get(path)).status_code in (401, 404)


async def test_an_app_sees_and_ends_no_session_of_its_user(store: Store, seed: Any) -> None:
    def issue(db: Connection) -> str:
        _, app = apps.create(db, seed.reader["id"], "Mill", url="https://mill.example/")
        return grants.issue(db, app, seed.octo["id"], scopes=["repo"])[0]

    held = store.write_sync(issue)
    async with (
        open_dashboard(store, held, last=False) as app,
        open_dashboard(store, seed.token) as browser,
    ):
        mine = tokens.digest(browser.client.cookies["tocsin_ui"])[: sessions.SHOWN]
        assert (await app.get("/ui/sessions")).status_code == 403
        for path in (f"/ui/sessions/{mine}/end", "/ui/sessions/end-others"):
            assert (await app.post(path)).status_code == 403
        assert "this session" in text_of(await browser.page("/ui/sessions"))


async def test_signing_in_and_out_is_in_the_audit_log(store: Store, seed: Any) -> None:
    async with open_dashboard(store, seed.token) as browser:
        await browser.post("/ui/sign-out")
        rows = store.read_sync(
            lambda db: db.all(f"SELECT {audit_log.CONTENT} FROM audit ORDER BY id")
        )
    assert [(row["action"], row["actor"], row["via"]) for row in rows] == [
        ("ui/sign-in", "octo", "token"),
        ("ui/sign-out", "octo", "token"),
    ]
    assert {row["address"] for row in rows} == {"192.0.2.7"}
    assert seed.token not in str(rows)


@embedded("other tests here check stored sessions on every engine")
async def test_an_unreachable_store_is_answered_with_503(
    store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_dashboard(store, seed.token) as browser:

        async def gone(*given: Any, **named: Any) -> None:
            raise Unavailable("no disk")

        monkeypatch.setattr(store, "read_of", gone)
        answer = await browser.get("/ui")
        assert answer.status_code == 503
        assert "tocsin doctor" in answer.text
