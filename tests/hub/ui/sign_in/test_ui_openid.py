"""Users sign in with an OpenID Connect provider, and forged answers are refused."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from certificate_authority import Authority
from dashboard_client import FORM, SAME, open_dashboard, text_of
from engines import embedded
from openid_sign_in import EMAIL, START, settings, through
from openid_site import CLIENT, OpenIDSite, openid_site
from waiting import until

from hub.auth import rate_limits
from hub.openid import documents, provider
from hub.openid.attempt import SignInAttempt
from hub.ui import cookies
from hub.ui.sign_in import attempts
from store import Store
from store.accounts import accounts, emails, sessions, tokens
from store.audit import audit_search
from store.clock import HOUR, SECOND, MovableClock

pytestmark = embedded("test_ui_sign_in tests stored sessions on every engine")
CROSS_SITE = {"Sec-Fetch-Site": "cross-site"}


async def test_a_person_signs_in_and_gets_where_they_wanted(
    store: Store, octo: Any, site: OpenIDSite
) -> None:
    async with open_dashboard(store, last=False, **settings(site)) as browser:
        door = await browser.page("/ui/sign-in?next=%2Fui%2Fhooks")
        (link,) = re.findall(rf'href="({START}[^"]*)"', door)
        answer = await through(browser, site, link)
        assert answer.status_code == 200
        assert 'content="0; url=/ui/hooks"' in answer.text
        cookies = answer.headers.get_list("set-cookie")
        assert any(re.match(r"tocsin_ui=[\w-]{43}; .*SameSite=Strict", one) for one in cookies)
        assert "octo" in text_of(await browser.page("/ui/hooks"))
        listed = text_of(await browser.page("/ui/sessions"))
        assert "OpenID Connect" in listed
        assert "this session" in listed
    entry = store.read_sync(audit_search.page, limit=1)[0]
    assert (entry["actor"], entry["action"], entry["target"]) == ("octo", "ui/sign-in", START)
    await store.close()


@pytest.mark.parametrize(
    ("base", "host"),
    [
        ("https://hooks.example", "hooks.example:443"),
        ("https://hooks.example:443", "hooks.example"),
    ],
)
async def test_the_redirect_uri_has_no_default_port(
    store: Store, octo: Any, site: OpenIDSite, base: str, host: str
) -> None:
    given = settings(site, base_url=base)
    async with open_dashboard(store, host=f"http://{host}", **given) as browser:
        answer = await browser.get(START)
    asked = parse_qs(urlsplit(answer.headers["location"]).query)
    assert asked["redirect_uri"] == [f"https://hooks.example{START}/callback"]
    assert "; Secure" in answer.headers["set-cookie"]


async def test_a_sign_in_ends_the_browser_s_session(
    store: Store, octo: Any, seed: Any, site: OpenIDSite
) -> None:
    async with open_dashboard(store, seed.reader_token, **settings(site)) as browser:
        former = dict(browser.client.cookies)
        place, _ = site.sign_in((await browser.get(START)).headers["location"])
        # The browser sends no strict cookie with the provider's redirect.
        del browser.client.cookies["tocsin_ui"]
        await browser.get(place.removeprefix("http://127.0.0.1:8765"), headers=CROSS_SITE)
        assert "octo" in text_of(await browser.page("/ui"))
        browser.client.cookies.clear()
        browser.client.cookies.update(former)
        assert (await browser.get("/ui")).status_code == 303


async def test_the_browser_s_session_makes_room_for_its_next_one(
    store: Store, octo: Any, site: OpenIDSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST", 2)
    other = store.write_sync(sessions.begin_openid, octo["id"], sessions.SignInOrigin("openid"))
    store.write_sync(lambda db: db.execute("UPDATE ui_session SET seen_at = seen_at - 1"))
    async with open_dashboard(store, **settings(site)) as browser:
        for _ in range(2):
            assert (await through(browser, site)).status_code == 200
        assert store.read_sync(sessions.find, other, 3600 * SECOND) is not None


async def test_a_link_on_another_site_to_the_provider_finds_the_session(
    store: Store, seed: Any, site: OpenIDSite
) -> None:
    async with open_dashboard(store, **settings(site)) as browser:
        answer = await browser.get(f"{START}?next=%2Fui%2Fhooks", headers=CROSS_SITE)
        assert (answer.status_code, 'content="0"' in answer.text) == (200, True)
        assert not browser.client.cookies


async def test_signing_out_ends_the_token_too_and_names_the_provider(
    store: Store, octo: Any, site: OpenIDSite
) -> None:
    async with open_dashboard(store, last=False, **settings(site)) as browser:
        await through(browser, site)
        (token,) = store.read_sync(
            lambda db: db.all("SELECT * FROM token WHERE note LIKE '%OpenID%'")
        )
        assert token["scopes"]
        answer = await browser.post("/ui/sign-out")
        assert f"{site.issuer}/end?client_id={CLIENT}" in answer.text
        assert (await browser.get("/ui")).status_code == 303
    assert (
        store.read_sync(lambda db: db.all("SELECT id FROM token WHERE note LIKE '%OpenID%'")) == []
    )
    await store.close()


async def test_sign_ins_count_as_actions(
    store: Store, octo: Any, site: OpenIDSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limits, "ACTIONS_PER_MINUTE", 1)
    async with open_dashboard(store, **settings(site)) as browser:
        assert (await through(browser, site)).status_code == 200
        answer = await through(browser, site)
        assert answer.status_code == 403
        # The former session goes on, because nothing was changed.
        assert "octo" in text_of(await browser.page("/ui"))
        entries = store.read_sync(audit_search.page, limit=10)
        assert [entry["action"] for entry in entries].count("ui/sign-in") == 1


async def test_rights_are_those_of_the_user(store: Store, octo: Any, site: OpenIDSite) -> None:
    assert all(tokens.implies(tokens.WHOLE, scope) for scope in tokens.SCOPES)
    async with open_dashboard(store, **settings(site)) as browser:
        await through(browser, site)
        assert (await browser.get("/ui/jobs")).status_code == 403


async def test_a_setting_finds_users_by_a_claim(store: Store, octo: Any, site: OpenIDSite) -> None:
    site.claims = {"upn": "octo"}
    by_login = {"openid_match": "login", "openid_login_claim": "upn"}
    async with open_dashboard(store, **settings(site, **by_login)) as browser:
        assert (await through(browser, site)).status_code == 200
        assert "octo" in text_of(await browser.page("/ui"))


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"email": "eve@tower.example"}, "No user here has the verified email address"),
        ({"email_verified": False}, "has not verified your email address"),
        ({"email": None}, "does not tell your email address"),
        ({"nonce": "another"}, "nonce"),
        ({"aud": "another client"}, "aud"),
        ({"aud": [CLIENT, "another"]}, "another client"),
        ({"azp": "another"}, "another client"),
        ({"iss": "https://another.example"}, "iss"),
        ({"exp": 1_700_000_000}, "expired"),
        ({"exp": None}, "exp"),
        ({"sub": None}, "sub"),
    ],
)
async def test_a_refused_sign_in_shows_the_reason(
    store: Store, octo: Any, site: OpenIDSite, claims: dict[str, Any], said: str
) -> None:
    site.claims |= claims
    async with open_dashboard(store, last=False, **settings(site)) as browser:
        answer = await through(browser, site)
        assert answer.status_code == 403
        assert said in text_of(answer.text)
        assert (await browser.get("/ui")).status_code == 303
    assert store.read_sync(lambda db: db.all("SELECT id FROM ui_session")) == []
    await store.close()


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
async def test_a_weak_signature_is_refused(
    store: Store, octo: Any, site: OpenIDSite, algorithm: str
) -> None:
    site.algorithm = algorithm
    async with open_dashboard(store, **settings(site)) as browser:
        assert (await through(browser, site)).status_code == 403


@pytest.mark.parametrize("levels", [1000, 10_000])
async def test_an_id_token_whose_head_is_nested_deeply_is_refused(
    store: Store, octo: Any, site: OpenIDSite, levels: int
) -> None:
    site.head = f'{{"alg":"RS256","kid":"first","x":{"[" * levels}{"]" * levels}}}'
    async with open_dashboard(store, **settings(site)) as browser:
        answer = await through(browser, site)
        assert (answer.status_code, "not valid" in text_of(answer.text)) == (403, True)


async def test_a_document_that_is_nested_deeply_is_answered_with_502(
    store: Store, octo: Any, site: OpenIDSite
) -> None:
    nested: list[Any] = []
    for _ in range(900):
        nested = [nested]
    site.described = {"issuer": nested}
    async with open_dashboard(store, **settings(site)) as browser:
        answer = await browser.get(START)
        assert (answer.status_code, "JSON object" in text_of(answer.text)) == (502, True)


async def test_the_page_of_a_refused_sign_in_has_valid_forms(
    store: Store, octo: Any, seed: Any, site: OpenIDSite
) -> None:
    site.claims["email"] = "eve@tower.example"
    async with open_dashboard(store, seed.reader_token, **settings(site)) as browser:
        mine = browser.client.cookies["tocsin_ui"]
        place, _ = site.sign_in((await browser.get(START)).headers["location"])
        # The browser sends no strict cookie with the provider's redirect, but with a form.
        del browser.client.cookies["tocsin_ui"]
        page = await browser.get(place.removeprefix("http://127.0.0.1:8765"), headers=CROSS_SITE)
        found = FORM.search(page.text)
        assert found is not None
        browser.client.cookies.set("tocsin_ui", mine)
        for path, given in (
            ("/ui/theme", {"theme": "dark"}),
            ("/ui/sign-in", {"token": seed.token}),
        ):
            form = {"csrf": found[1], **given}
            answer = await browser.client.post(path, data=form, headers=SAME)
            assert answer.status_code == 303, text_of(answer.text)


async def test_claims_that_are_only_in_the_userinfo_are_found_there(
    store: Store, octo: Any, site: OpenIDSite
) -> None:
    site.claims, site.info = {}, EMAIL
    async with open_dashboard(store, **settings(site)) as browser:
        assert (await through(browser, site)).status_code == 200
        assert "octo" in text_of(await browser.page("/ui"))
        site.claims = dict(EMAIL)
        assert (await through(browser, site)).status_code == 200
        assert site.asked.count("userinfo") == 1


@pytest.mark.parametrize(
    ("claims", "info", "status", "said"),
    [
        ({}, {**EMAIL, "sub": "another"}, 403, "another person"),
        ({}, {}, 403, "does not tell your email address"),
        # An address that is not verified here is not the verified one there.
        ({"email": "octo@tower.example"}, {"email_verified": True}, 403, "has not verified"),
        (
            {"email": "octo@tower.example"},
            {"email": "eve@tower.example", "email_verified": True},
            403,
            "eve@tower.example",
        ),
        ({"email_verified": True}, {"email": "octo@tower.example"}, 403, "has not verified"),
    ],
)
async def test_userinfo_that_does_not_fit_is_refused(
    store: Store,
    octo: Any,
    site: OpenIDSite,
    claims: dict[str, Any],
    info: dict[str, Any],
    status: int,
    said: str,
) -> None:
    site.claims, site.info = claims, info
    async with open_dashboard(store, **settings(site)) as browser:
        answer = await through(browser, site)
        assert (answer.status_code, said in text_of(answer.text)) == (status, True)
        assert (await browser.get("/ui")).status_code == 303


@pytest.mark.parametrize(
    "address", ["", "http://elsewhere.example/x", 5, "https://127.0.0.1:99999/"]
)
async def test_an_endpoint_that_is_not_needed_may_be_unusable(
    store: Store, octo: Any, site: OpenIDSite, address: Any
) -> None:
    site.described = {"userinfo_endpoint": address, "end_session_endpoint": address}
    async with open_dashboard(store, **settings(site)) as browser:
        assert (await through(browser, site)).status_code == 200
        assert (await browser.post("/ui/sign-out")).status_code == 303


@pytest.mark.parametrize("name", ["token_endpoint", "jwks_uri"])
async def test_an_endpoint_whose_host_cannot_be_encoded_is_answered_with_502(
    store: Store, octo: Any, site: OpenIDSite, name: str
) -> None:
    site.described = {name: "https://xn--/"}
    async with open_dashboard(store, **settings(site)) as browser:
        answer = await through(browser, site)
        assert (answer.status_code, "https://xn--/" in text_of(answer.text)) == (502, True)


async def test_userinfo_that_cannot_be_fetched_is_answered_with_502(
    store: Store, octo: Any, site: OpenIDSite
) -> None:
    site.claims, site.described = {}, {"userinfo_endpoint": f"{site.issuer}/nowhere"}
    async with open_dashboard(store, **settings(site)) as browser:
        answer = await through(browser, site)
        assert (answer.status_code, "/nowhere" in text_of(answer.text)) == (502, True)


async def test_userinfo_that_is_signed_is_answered_with_the_remedy(
    store: Store, octo: Any, site: OpenIDSite
) -> None:
    site.claims, site.info, site.signs_info = {}, EMAIL, True
    async with open_dashboard(store, **settings(site)) as browser:
        answer = await through(browser, site)
        assert (answer.status_code, "Let it send plain JSON" in text_of(answer.text)) == (502, True)
        assert (await browser.get("/ui")).status_code == 303


@pytest.mark.parametrize("access", ["a\nsecret \u2603", "a-secret ", "\x7fsecret"])
async def test_an_access_token_that_no_header_can_hold_is_not_shown(
    store: Store, octo: Any, site: OpenIDSite, access: str
) -> None:
    site.claims, site.info, site.access = {}, EMAIL, access
    async with open_dashboard(store, **settings(site)) as browser:
        answer = await through(browser, site)
        assert (answer.status_code, "cannot be used" in text_of(answer.text)) == (502, True)
        assert "secret" not in text_of(answer.text)


async def test_an_unknown_key_is_refused(store: Store, octo: Any, site: OpenIDSite) -> None:
    site.key = "second"
    async with open_dashboard(store, **settings(site)) as browser:
        assert (await through(browser, site)).status_code == 403


async def test_a_provider_changes_its_key(
    store: Store, octo: Any, site: OpenIDSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "LEAST_BETWEEN", 0)
    async with open_dashboard(store, **settings(site)) as browser:
        assert (await through(browser, site)).status_code == 200
        site.key, site.published = "second", ["first", "second"]
        assert (await through(browser, site)).status_code == 200
        assert site.asked.count("keys") == 2
        assert site.asked.count("description") == 1


async def test_a_provider_changes_its_key_but_not_the_id_of_the_key(
    store: Store, octo: Any, site: OpenIDSite, clock: MovableClock
) -> None:
    site.named = "the key"
    async with open_dashboard(store, **settings(site)) as browser:
        assert (await through(browser, site)).status_code == 200
        site.key, site.published = "second", ["second"]
        assert (await through(browser, site)).status_code == 403
        clock.advance(provider.LEAST_BETWEEN)
        assert (await through(browser, site)).status_code == 200
        assert site.asked.count("keys") == 2


async def test_documents_that_a_fast_clock_has_fetched_are_fetched_anew(
    store: Store, octo: Any, site: OpenIDSite, clock: MovableClock
) -> None:
    async with open_dashboard(store, **settings(site)) as browser:
        clock.advance(365 * 86_400)
        assert (await through(browser, site)).status_code == 200
        clock.advance(-364 * 86_400)
        site.key, site.published = "second", ["second"]
        assert (await through(browser, site)).status_code == 200
        assert site.asked.count("description") == 2


async def test_an_attempt_has_one_answer_in_one_browser(
    store: Store, octo: Any, site: OpenIDSite
) -> None:
    async with open_dashboard(store, last=False, **settings(site)) as browser:
        place, query = site.sign_in((await browser.get(START)).headers["location"])
        path = place.removeprefix("http://127.0.0.1:8765")
        other = await browser.get(f"{START}/callback?code={query['code']}&state=another")
        assert other.status_code == 403
        # The wrong answer has ended this attempt to sign in, so the right one comes too late.
        assert "began too long ago" in text_of((await browser.get(path)).text)
        answer = await through(browser, site)
        assert answer.status_code == 200
    async with open_dashboard(store, **settings(site)) as victim:
        place, _ = site.sign_in((await victim.get(START)).headers["location"])
        victim.client.cookies.clear()
        answer = await victim.get(place.removeprefix("http://127.0.0.1:8765"))
        assert (answer.status_code, "another browser" in answer.text) == (403, True)


async def test_two_tabs_sign_in_at_the_same_time(store: Store, octo: Any, site: OpenIDSite) -> None:
    async with open_dashboard(store, **settings(site)) as browser:
        wanted = ("/ui/hooks", "/ui/events")
        places = [
            site.sign_in((await browser.get(f"{START}?next={one}")).headers["location"])[0]
            for one in wanted
        ]
        for place, one in zip(places, wanted, strict=True):
            path = place.removeprefix("http://127.0.0.1:8765")
            answer = await browser.get(path)
            assert (answer.status_code, f"url={one}" in answer.text) == (200, True)
        # Each attempt has one answer.
        assert (await browser.get(path)).status_code == 403


async def test_the_oldest_attempts_make_room(
    store: Store, octo: Any, site: OpenIDSite, clock: MovableClock
) -> None:
    async with open_dashboard(store, **settings(site)) as browser:
        for size in (10, 10, 10, 10, 10, 1900, 10):
            answer = await browser.get(f"{START}?next=/ui/hooks?name={'x' * size}")
            assert answer.status_code == 303
            clock.advance(1)
        kept = [one for one in browser.client.cookies.jar if one.name.startswith(cookies.ATTEMPT)]
        assert sum(len(one.value or "") for one in kept) <= attempts.MOST
        # The newest two remain, and some of the others.
        assert 2 < len(kept) < 7
        assert max(len(one.value or "") for one in kept) > 1900
        place, _ = site.sign_in(answer.headers["location"])
        assert (await browser.get(place.removeprefix("http://127.0.0.1:8765"))).status_code == 200


async def test_an_answer_of_another_provider_is_refused(
    store: Store, octo: Any, site: OpenIDSite
) -> None:
    async with open_dashboard(store, **settings(site)) as browser:
        for issuer, status in ((site.issuer, 200), ("https://another.example", 403)):
            place, _ = site.sign_in((await browser.get(START)).headers["location"])
            path = place.removeprefix("http://127.0.0.1:8765")
            assert (await browser.get(f"{path}&iss={issuer}")).status_code == status
        assert "token" not in site.asked[-1:]


async def test_the_providers_own_refusal_is_shown(
    store: Store, octo: Any, site: OpenIDSite
) -> None:
    async with open_dashboard(store, **settings(site)) as browser:
        _, query = site.sign_in((await browser.get(START)).headers["location"])
        refused = f"{START}/callback?error=access_denied&state={query['state']}"
        answer = await browser.get(refused)
        assert (answer.status_code, "access_denied" in answer.text) == (403, True)
        _, query = site.sign_in((await browser.get(START)).headers["location"])
        refused = f"{START}/callback?error=a&error_description=no+way.&state={query['state']}"
        assert "refused the sign-in: a (no way)." in text_of((await browser.get(refused)).text)


# A path that no cookie can hold is not cut, because the rest could lead to another selection.
@pytest.mark.parametrize(
    "wanted", ["//evil.example", "https://evil.example/ui", "/uix", "/ui/replay?hook=" + "1" * 2000]
)
async def test_a_sign_in_never_leads_to_another_place(
    store: Store, octo: Any, site: OpenIDSite, wanted: str
) -> None:
    async with open_dashboard(store, **settings(site)) as browser:
        answer = await through(browser, site, f"{START}?next={wanted}")
        assert 'url=/ui"' in answer.text
    attempt = SignInAttempt("s", "n", "v", wanted, "f", 1)
    assert SignInAttempt.unpacked(attempt.packed()) == attempt
    assert SignInAttempt.unpacked("nothing") is None
    assert SignInAttempt.unpacked(replace(attempt, former="f\0").packed()) is None


@pytest.mark.parametrize(
    ("described", "said"),
    [
        ({"issuer": "https://another.example"}, "another issuer"),
        ({"token_endpoint": "http://elsewhere.example/token"}, "token_endpoint"),
        ({"jwks_uri": None}, "jwks_uri"),
    ],
)
async def test_an_unusable_provider_is_answered_with_502(
    store: Store, octo: Any, site: OpenIDSite, described: dict[str, Any], said: str
) -> None:
    site.described = described
    async with open_dashboard(store, **settings(site)) as browser:
        answer = await browser.get(START)
        assert (answer.status_code, said in text_of(answer.text)) == (502, True)


async def test_documents_have_a_bound(
    store: Store, octo: Any, site: OpenIDSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.padding = documents.MOST_BYTES
    async with open_dashboard(store, **settings(site)) as browser:
        assert f"more than {documents.MOST_BYTES} bytes" in (await browser.get(START)).text
        site.padding = 0
        site.open.clear()
        monkeypatch.setattr(documents, "PATIENCE", 0.2)
        assert "did not answer within 0.2 s" in (await browser.get(START)).text


async def test_sign_ins_at_the_same_time_share_one_fetch(
    store: Store, octo: Any, site: OpenIDSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.open.clear()
    monkeypatch.setattr(documents, "PATIENCE", 0.5)
    async with open_dashboard(store, **settings(site)) as browser:
        answers = await asyncio.gather(*(browser.get(START) for _ in range(5)))
        assert {answer.status_code for answer in answers} == {502}
        assert site.asked.count("description") == 1
        site.open.set()
        # A failure is not kept.
        assert (await browser.get(START)).status_code == 303


async def test_an_unreachable_provider_is_answered_with_502(
    store: Store, octo: Any, site: OpenIDSite
) -> None:
    away = settings(site, openid_issuer="http://127.0.0.1:1")
    async with open_dashboard(store, **away) as browser:
        answer = await browser.get(START)
        assert (answer.status_code, "cannot be reached" in answer.text) == (502, True)


async def test_a_provider_may_have_a_certificate_of_a_private_authority(
    store: Store, octo: Any, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    authority.issue("provider")
    async with openid_site(tmp_path / "provider.crt") as site:
        site.clock = lambda: store.clock.now() / SECOND
        site.claims |= EMAIL
        async with open_dashboard(store, last=False, **settings(site)) as browser:
            answer = await browser.get(START)
            assert (answer.status_code, "CERTIFICATE" in answer.text) == (502, True)
        trusting = settings(site, openid_ca=authority.certificate)
        async with open_dashboard(store, **trusting) as browser:
            assert (await through(browser, site)).status_code == 200


async def test_sessions_are_ended_one_by_one_or_all(store: Store, seed: Any) -> None:
    user = store.read_sync(accounts.by_login, "octo")
    origin = sessions.SignInOrigin("openid", "192.0.2.9", "a browser")
    async with open_dashboard(store, seed.token, last=False) as browser:
        for _ in range(3):
            store.write_sync(sessions.begin_openid, user["id"], origin)
        listed = await browser.page("/ui/sessions")
        ends = re.findall(r'action="(/ui/sessions/[0-9a-f]{16}/end)"', listed)
        assert len(ends) == 3
        assert "192.0.2.9" in listed
        assert (await browser.post(ends[0], on="/ui/sessions")).status_code == 303
        assert (await browser.post(ends[0], on="/ui/sessions")).status_code == 404
        await browser.post("/ui/sessions/end-others", on="/ui/sessions")
        assert "this session" in text_of(await browser.page("/ui/sessions"))
    assert len(store.read_sync(lambda db: db.all("SELECT id FROM ui_session"))) == 1
    await store.close()


async def test_a_session_that_ended_without_use_is_not_listed(
    store: Store, seed: Any, clock: MovableClock
) -> None:
    async with open_dashboard(store, seed.token, ui_idle=3600) as browser:
        clock.advance(seconds=3601)
        await browser.enter(seed.token)
        assert "/end" not in await browser.page("/ui/sessions")


async def test_sessions_of_others_are_not_there(store: Store, seed: Any) -> None:
    eve = store.write_sync(accounts.create, "eve")
    store.write_sync(sessions.begin_openid, eve["id"], sessions.SignInOrigin("openid"))
    (row,) = store.read_sync(sessions.owned, eve["id"], HOUR)
    async with open_dashboard(store, seed.token) as browser:
        assert row["shown_id"] not in await browser.page("/ui/sessions")
        end = f"/ui/sessions/{row['shown_id']}/end"
        assert (await browser.post(end, on="/ui/sessions")).status_code == 404


async def test_failures_from_one_address_are_counted(
    store: Store, octo: Any, site: OpenIDSite
) -> None:
    async with open_dashboard(store, **settings(site, failed_tokens=3)) as browser:
        for _ in range(4):
            answer = await browser.get(f"{START}/callback?code=x&state=y")
        assert answer.status_code == 403
        assert "began too long ago" not in answer.text
        # The provider's own answer is still accepted.
        assert (await through(browser, site)).status_code == 200


async def test_a_late_answer_is_refused(
    store: Store, octo: Any, site: OpenIDSite, clock: MovableClock
) -> None:
    async with open_dashboard(store, **settings(site)) as browser:
        place, _ = site.sign_in((await browser.get(START)).headers["location"])
        clock.advance(601)
        answer = await browser.get(place.removeprefix("http://127.0.0.1:8765"))
        assert (answer.status_code, "began too long ago" in answer.text) == (403, True)


async def test_keys_of_other_kinds_are_left_out(store: Store, octo: Any, site: OpenIDSite) -> None:
    site.odd = [{"kty": "oct", "k": "AAAA"}, {"kty": "new"}, "nothing", {"use": "enc"}]
    async with open_dashboard(store, **settings(site)) as browser:
        assert (await through(browser, site)).status_code == 200


async def test_a_claim_that_looks_like_a_login_is_another(store: Store, site: OpenIDSite) -> None:
    store.write_sync(accounts.create, "karl")
    site.claims = {"upn": "\N{KELVIN SIGN}arl"}
    by_login = {"openid_match": "login", "openid_login_claim": "upn"}
    async with open_dashboard(store, **settings(site, **by_login)) as browser:
        answer = await through(browser, site)
        assert (answer.status_code, "There is no user" in text_of(answer.text)) == (403, True)
        assert (await browser.get("/ui")).status_code == 303


async def test_a_claim_that_looks_like_an_email_address_is_another(
    store: Store, octo: Any, site: OpenIDSite
) -> None:
    store.write_sync(
        emails.add, octo["id"], ["kim@tower.example", "jürgen@tower.example"], verified=True
    )
    async with open_dashboard(store, **settings(site)) as browser:
        site.claims["email"] = "\N{KELVIN SIGN}im@tower.example"
        answer = await through(browser, site)
        assert (answer.status_code, "No user here" in answer.text) == (403, True)
        for same in (
            "KIM@TOWER.example",
            "J\u00dcrgen@tower.example",
            "ju\u0308rgen@tower.example",
        ):
            site.claims["email"] = same
            assert (await through(browser, site)).status_code == 200


async def test_an_account_known_from_events_cannot_sign_in(
    store: Store, octo: Any, site: OpenIDSite
) -> None:
    store.write_sync(lambda db: db.execute("UPDATE account SET heard_of = 1 WHERE login = 'octo'"))
    site.claims = {"preferred_username": "octo"}
    async with open_dashboard(store, **settings(site, openid_match="login")) as browser:
        assert (await through(browser, site)).status_code == 403


async def test_few_codes_are_exchanged_at_once(
    store: Store, octo: Any, site: OpenIDSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "AT_ONCE", 0)
    async with open_dashboard(store, **settings(site)) as browser:
        answer = await through(browser, site)
        assert (answer.status_code, "Too many people" in answer.text) == (502, True)
        assert "token" not in site.asked


async def test_one_address_does_not_take_the_turns_of_others(
    store: Store, octo: Any, site: OpenIDSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "AT_ONCE_EACH", 1)
    given = settings(site, trusted_proxies=["0.0.0.0/0"])
    async with open_dashboard(store, **given) as browser:
        places = [site.sign_in((await browser.get(START)).headers["location"]) for _ in range(3)]
        first, second, third = (place.removeprefix("http://127.0.0.1:8765") for place, _ in places)
        one, other = ({"X-Forwarded-For": f"198.51.100.{number}"} for number in (1, 2))
        site.issuing.clear()
        tasks = [asyncio.create_task(browser.get(first, headers=one))]
        await until(lambda: site.asked.count("token") == 1, "the first request for a token")
        assert (await browser.get(second, headers=one)).status_code == 502
        tasks.append(asyncio.create_task(browser.get(third, headers=other)))
        await until(lambda: site.asked.count("token") == 2, "the request of the other address")
        site.issuing.set()
        assert [answer.status_code for answer in await asyncio.gather(*tasks)] == [200, 200]
