"""A form that cannot be accepted now keeps its fields, and can be sent again."""

import html
import re
from typing import Any

import pytest
from dashboard_client import SAME, open_dashboard, text_of

from hub.auth import rate_limits
from hub.ui.dashboard import MOST_ACTION, MOST_FORM
from store import Connection, Row, Store
from store.accounts import accounts, tokens
from store.errors import Unavailable
from store.hooks import hooks
from store.repositories import repositories

SCOPES = ["repo", "admin:repo_hook"]
AT = "/ui/hooks/new"
FILLED = {
    "repository": "octo/hello",
    "url": "https://receiver.example/kept",
    "content_type": "json",
    "secret": "none",
}
TEXTS = {"filter": '{"a": 1}\n"<b>"', "events": ["push", "star"]}


def fields(page: str) -> dict[str, list[str]]:
    """The fields of the last form of a page."""
    found: dict[str, list[str]] = {}
    form = page.rpartition("<form")[2]
    for name, value in re.findall(r'name="([^"]*)" value="([^"]*)"', form):
        found.setdefault(name, []).append(html.unescape(value))
    return found


async def test_a_form_is_sent_again_after_a_sign_in(store: Store, seed: Any) -> None:
    async with open_dashboard(store, seed.token) as browser:
        sent = FILLED | TEXTS | {"csrf": "0" * 64}
        browser.client.cookies.clear()
        answer = await browser.client.post(AT, data=sent, headers=SAME)
        assert answer.status_code == 401
        assert "You are signed out. Nothing was changed" in text_of(answer.text)
        kept = fields(answer.text)
        await browser.sign_in(seed.token)
        answer = await browser.client.post(AT, data=kept, headers=SAME)
        assert answer.status_code == 403
        assert "This form is out of date. Nothing was changed" in text_of(answer.text)
        kept = fields(answer.text)
        given = {name: value for name, value in sent.items() if name != "csrf"}
        expected = {n: v if isinstance(v, list) else [v] for n, v in given.items()}
        assert {n: v for n, v in kept.items() if n != "csrf"} == expected
        kept["filter"] = [""]
        answer = await browser.client.post(AT, data=kept, headers=SAME)
        assert answer.status_code == 303


@pytest.mark.parametrize("has_ended", [True, False])
async def test_nobody_sends_the_form_of_another_user(
    store: Store, seed: Any, *, has_ended: bool
) -> None:
    """The next user of a browser may sign in while a page still has what somebody typed."""
    async with open_dashboard(store, seed.token) as browser:
        page = (await browser.client.get(AT)).text
        form = FILLED | {"events": ["push"], "csrf": fields(page)["csrf"][0]}
        browser.client.cookies.clear()
        if has_ended:
            answer = await browser.client.post(AT, data=form, headers=SAME)
            assert answer.status_code == 401
            form = fields(answer.text)
        await browser.sign_in(store.write_sync(token_of_another, seed.hello))
        answer = await browser.client.post(AT, data=form, headers=SAME)
        assert answer.status_code == 403
        assert "form is out of date" in text_of(answer.text)
        assert "receiver.example/kept" not in answer.text
        browser.client.cookies.clear()
        # The same user may have another token.
        await browser.sign_in(store.write_sync(tokens.create, seed.octo["id"], scopes=SCOPES)[0])
        answer = await browser.client.post(AT, data=form, headers=SAME)
        assert "receiver.example/kept" in answer.text
        answer = await browser.client.post(AT, data=fields(answer.text), headers=SAME)
        assert answer.status_code == 303


def token_of_another(db: Connection, repo: Row) -> str:
    bob = accounts.create(db, "bob")
    repositories.grant(db, repo["id"], bob["id"], "admin")
    return tokens.create(db, bob["id"], scopes=SCOPES)[0]


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "cross-site"}])
async def test_nothing_is_kept_of_a_form_that_may_come_from_elsewhere(
    store: Store, seed: Any, headers: dict[str, str]
) -> None:
    async with open_dashboard(store, seed.token) as browser:
        answer = await browser.client.post(AT, data=FILLED, headers=headers)
        assert answer.status_code == 403
        assert "example/kept" not in answer.text
        browser.client.cookies.clear()
        answer = await browser.client.post(AT, data=FILLED, headers=headers)
        assert answer.headers["location"] == "/ui/sign-in?ended=1"


async def test_a_form_is_sent_again_after_a_failure(
    store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_dashboard(store, seed.token) as browser:

        async def gone(*given: Any, **named: Any) -> None:
            raise Unavailable("no disk")

        with monkeypatch.context() as broken:
            broken.setattr(store, "write", gone)
            answer = await browser.post(AT, FILLED | {"events": ["push"]}, on=AT)
        assert answer.status_code == 503
        assert "tocsin doctor" in answer.text
        kept = fields(answer.text)
        assert kept["url"] == [FILLED["url"]]
        answer = await browser.client.post(AT, data=kept, headers=SAME)
        assert answer.status_code == 303


async def test_a_payload_is_kept_while_the_hook_is_off(store: Store, seed: Any) -> None:
    hook = store.write_sync(
        hooks.create, seed.hello["id"], url="https://receiver.example/", events=["push"]
    )
    store.write_sync(hooks.update, hook, active=False)
    at, form = f"/ui/hooks/{hook['id']}/send", {"event": "push", "payload": '{"mark": "mine"}'}
    async with open_dashboard(store, seed.token) as browser:
        answer = await browser.post(at, form, on=at)
        assert answer.status_code == 409
        assert "The hook is off" in text_of(answer.text)
        assert html.escape(form["payload"]).replace("&quot;", "&#34;") in answer.text


async def test_no_page_repeats_a_secret(store: Store, seed: Any) -> None:
    """The user enters it again, and the browser sends no form without it."""
    secrets = {"own_secret": "mine-0", "tls_client_key": "mine-1", "oauth2_client_secret": "mine-2"}
    headers = {"header_name": ["X-Env", "Authorization"], "header_value": ["blue", "mine-3"]}
    sent = FILLED | secrets | headers
    async with open_dashboard(store, seed.token) as browser:
        browser.client.cookies.clear()
        answer = await browser.client.post(AT, data=sent, headers=SAME)
        assert answer.status_code == 401
        assert "mine-" not in answer.text
        assert "Enter secret values again" in text_of(answer.text)
        kept = fields(answer.text)
        assert kept["header_name"] == headers["header_name"]
        assert kept["header_value"] == ["blue"]
        again = re.findall(r'<(?:input|textarea) [^>]*name="([^"]*)"[^>]* required', answer.text)
        assert sorted(again) == ["header_value", *sorted(secrets)]


async def test_a_form_that_is_too_large_to_keep_is_in_the_browser(store: Store, seed: Any) -> None:
    """A redirection would show the form anew when the user goes back."""
    async with open_dashboard(store, seed.token) as browser:
        browser.client.cookies.clear()
        answer = await browser.client.post(AT, data={"url": "x" * MOST_FORM}, headers=SAME)
        assert answer.status_code == 401
        page = text_of(answer.text)
        assert "You are signed out. Nothing was changed" in page
        assert "go back: your browser still has them" in page
        assert 'href="/ui/sign-in" target="_blank"' in answer.text
        assert "Send the form again" not in page


async def test_a_form_of_somebody_signed_in_may_be_too_large(store: Store, seed: Any) -> None:
    async with open_dashboard(store, seed.token) as browser:
        filled = FILLED | {"filter": "x" * MOST_ACTION}
        answer = await browser.post(AT, filled, on=AT)
        assert answer.status_code == 413
        page = text_of(answer.text)
        assert "larger than the limit of 1048576 bytes (1 MB). Nothing was changed." in page
        assert "Go back: your browser still has your entries." in page


async def test_a_form_is_sent_again_after_too_many(
    store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limits, "ACTIONS_PER_MINUTE", 1)
    async with open_dashboard(store, seed.token) as browser:
        answer = await browser.post(AT, FILLED | {"events": ["push"]}, on=AT)
        assert answer.status_code == 403
        assert "Please wait" in text_of(answer.text)
        assert "Sign in with a token" not in answer.text
        kept = fields(answer.text)
        monkeypatch.undo()
        answer = await browser.client.post(AT, data=kept, headers=SAME)
        assert answer.status_code == 303
