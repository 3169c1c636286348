"""The pages of events and topics: contents, rights to see them, and number of SQL statements."""

import re
from html import unescape
from typing import Any

import pytest
from dashboard_client import open_dashboard, text_of
from statement_log import statements
from transactions import transaction
from ui_rows import arrive, hook, operator
from websub_followers import follow

from store import Connection, Store
from store.accounts import accounts, tokens
from store.delivery.incoming import LOCAL_SOURCE
from store.delivery.listing import event_page
from store.delivery.websub import websub_foreign
from store.delivery.websub.websub_topics import Topic, external_topic
from store.hooks import hooks
from store.hooks.hook_targets import organization
from store.repositories import repositories


async def test_events_without_subscribers_are_listed(store: Store, seed: Any) -> None:
    store.write_sync(hook, seed.hello, "push")
    store.write_sync(arrive, seed.hello["id"])
    star = store.write_sync(arrive, seed.hello["id"], name="star", action="created")
    async with open_dashboard(store, seed.token) as browser:
        said = text_of(await browser.page("/ui/events"))
        assert "star.created" in said
        assert "no subscribers" in said
        assert "octo/hello" in said
        html = await browser.page("/ui/events?wanted=nobody")
        assert f"/ui/events/{star}" in html
        assert "push number" not in text_of(html)
        said = text_of(await browser.page("/ui/events?event=push&repository=octo/hello"))
        assert "star.created" not in said
        said = text_of(await browser.page("/ui/events?repository=octo/nothing"))
        assert "No matching events" in said
        assert "tocsin refusal list" in said


async def test_events_can_be_selected_by_their_hook(
    store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with transaction(store) as db:
        first = hook(db, seed.hello, "push")
        org = accounts.create(db, "guild", kind="Organization")
        accounts.join(db, org["id"], seed.octo["id"], "admin")
        repo = repositories.create(db, org["id"], "bell")
        of_org = hooks.create(
            db, organization(org["id"]), url="https://org.example:8443/in", events=["star"],
            content_type="json",
        )  # fmt: skip
        arrive(db, repo["id"], name="star")
        first, of_org, token = (
            first,
            of_org,
            tokens.create(db, seed.octo["id"], scopes=["repo", "admin:org_hook"])[0],
        )
    push = store.write_sync(arrive, seed.hello["id"])
    store.write_sync(arrive, seed.hello["id"], name="star")
    async with open_dashboard(store, token, last=False) as browser:

        async def found(text: str) -> list[str]:
            page = await browser.page(f"/ui/events?hook={text}")
            return re.findall(r'href="/ui/events/(\d+)"', page)

        assert await found(str(first["id"])) == [str(push)]
        assert await found(first["url"].split("//")[1]) == [str(push)]
        assert len(await found("ORG.example:8443")) == 1
        assert await found(str(of_org["id"])) == await found("org.example")
        assert await found("nowhere.example") == []
        assert await found(f"{first['id']}&event=star") == []
        # Only the newest events are searched, and the page says how many.
        monkeypatch.setattr(event_page, "LOOKED_OF_HOOKS", 1)
        page = text_of(await browser.page(f"/ui/events?hook={first['id']}"))
        assert "Only the newest events were searched" in page
    async with open_dashboard(store, seed.reader_token) as browser:
        page = await browser.page(f"/ui/events?hook={first['id']}")
        assert "/ui/events/" not in page


async def test_an_empty_list_explains_how_to_send_an_event(store: Store, seed: Any) -> None:
    async with open_dashboard(store, seed.token) as browser:
        said = text_of(await browser.page("/ui/events"))
        assert "No events yet" in said
        assert "tocsin source add forge" in said
        assert "/events/push" in (post := said[said.index("curl -H") :])
        # Without the media type, curl sends a form, and --json needs a recent curl.
        assert "-H 'Content-Type: application/json' -d '{\"ref\": \"refs/heads/main\"}'" in post
        assert (await browser.get("/docs/how-to/post-events")).status_code == 200


async def test_the_hubs_own_event_is_named_as_such(store: Store, seed: Any) -> None:
    root = store.write_sync(operator)
    store.write_sync(arrive, seed.hello["id"])
    store.write_sync(arrive, seed.hello["id"], name="star", source_id=LOCAL_SOURCE)
    async with open_dashboard(store, root) as browser:
        said = text_of(await browser.page("/ui/events"))
    assert "this hub" in said
    assert "posted by a command" in said


async def test_users_see_the_events_of_their_own_repositories(store: Store, seed: Any) -> None:
    mine = store.write_sync(arrive, seed.hello["id"])
    nobodys = store.write_sync(arrive, 0, name="ping")
    root = store.write_sync(operator)
    async with open_dashboard(store, seed.reader_token, last=False) as browser:
        assert "Nothing that you may see" in text_of(await browser.page("/ui/events"))
        assert (await browser.get(f"/ui/events/{mine}")).status_code in (403, 404)
    async with open_dashboard(store, seed.token, last=False) as browser:
        assert f"/ui/events/{nobodys}" not in await browser.page("/ui/events")
        assert (await browser.get(f"/ui/events/{nobodys}")).status_code == 404
        await browser.page(f"/ui/events/{mine}")
    async with open_dashboard(store, root) as browser:
        assert f"/ui/events/{nobodys}" in await browser.page("/ui/events")
        await browser.page(f"/ui/events/{nobodys}")
        assert (await browser.get("/ui/events/99")).status_code == 404


async def test_an_event_with_its_payload_and_deliveries(store: Store, seed: Any) -> None:
    store.write_sync(hook, seed.hello, "push")
    event = store.write_sync(arrive, seed.hello["id"], body=b'{"a":"<script>alert(1)</script>"}')
    async with open_dashboard(store, seed.token) as browser:
        html = await browser.page(f"/ui/events/{event}")
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert(1)" in html
        said = text_of(html)
        assert "waiting" in said
        assert "https://receiver.example/hook" in said
        store.write_sync(lambda db: db.execute("UPDATE event SET body = NULL"))
        assert "It has been deleted" in text_of(await browser.page(f"/ui/events/{event}"))


async def test_a_large_payload_is_shown_to_a_bound(store: Store, seed: Any) -> None:
    event = store.write_sync(arrive, seed.hello["id"], body=b'{"a":"' + b"x" * 200_000 + b'"}')
    async with open_dashboard(store, seed.token) as browser:
        html = await browser.page(f"/ui/events/{event}")
    assert len(html) < 100_000
    assert "The rest is not shown." in text_of(html)


async def test_a_deep_payload_is_shown_to_a_bound(store: Store, seed: Any) -> None:
    deep = b'{"a":' + b"[" * 900 + b"0," * 200_000 + b"0" + b"]" * 900 + b"}"
    event = store.write_sync(arrive, seed.hello["id"], body=deep)
    async with open_dashboard(store, seed.token) as browser:
        html = await browser.page(f"/ui/events/{event}")
    assert len(html) < 150_000
    assert "The rest is not shown." in text_of(html)


async def test_older_events_are_led_to(
    store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write_sync(arrive, seed.hello["id"], 60)
    async with open_dashboard(store, seed.token) as browser:
        html = await browser.page("/ui/events?event=push")
        assert html.count("/ui/events/") == 50
        assert 'href="/ui/events?event=push&amp;before=11"' in html
        html = await browser.page("/ui/events?event=push&before=11")
        assert 'rel="prev"' in html
        store.write_sync(hook, seed.hello, "push")
        store.write_sync(arrive, seed.hello["id"], 10, name="push", scope=99)
        monkeypatch.setattr(event_page, "LOOKED", 5)
        said = text_of(await browser.page("/ui/events?wanted=nobody"))
        assert "No match among the newest events" in said


@pytest.mark.parametrize("path", ["/ui/events", "/ui/events?wanted=nobody", "/ui/events/1"])
async def test_more_events_take_no_more_statements(
    store: Store, seed: Any, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write_sync(hook, seed.hello, "push")
    store.write_sync(arrive, seed.hello["id"], 40)
    async with open_dashboard(store, seed.token) as browser:
        await browser.page(path)
        seen = statements(monkeypatch)
        await browser.page(path)
        found = [sql for sql in seen if sql.lstrip().upper().startswith(("SELECT", "WITH"))]
        assert len(found) <= 12, found


async def test_topics_with_their_subscribers(store: Store, seed: Any) -> None:
    store.write_sync(hook, seed.hello, "push", "star")
    store.write_sync(hook, seed.hello, "*", url="https://all.example/")
    async with open_dashboard(store, seed.token) as browser:
        said = text_of(await browser.page("/ui/topics"))
        assert "octo/hello 2 0" in said
        assert "octo/vault private 0 0" in said
        said = text_of(await browser.page(f"/ui/topics/{seed.hello['id']}?event=push"))
        assert "push public 1 0" in said
        assert "1 hook is subscribed to all events" in said
        assert "https://all.example/ all events" in said
        assert "events.atom" in said
        assert "hub.mode=subscribe" in said
        said = text_of(await browser.page("/ui/topics/followers"))
        assert "No WebSub subscriptions" in said
        assert "/hub/websub -d hub.mode=subscribe" in said
        assert "No matching repository" in text_of(await browser.page("/ui/topics?repository=a/b"))


def _follow(db: Connection, topic: Topic) -> None:
    follow(db, topic, "https://a.example/")
    websub_foreign.mark_changed(db, topic)


async def test_operators_see_the_topics_of_other_sites(store: Store, seed: Any) -> None:
    store.write_sync(_follow, external_topic("https://blog.example/feed"))
    async with open_dashboard(store, store.write_sync(operator), last=False) as browser:
        said = text_of(await browser.page("/ui/topics"))
        assert "https://blog.example/feed 1 never to be fetched" in said
    async with open_dashboard(store, seed.token) as browser:
        assert "blog.example" not in await browser.page("/ui/topics")


async def test_an_event_in_a_link_is_one_word_of_the_command(store: Store, seed: Any) -> None:
    link = f"/ui/topics/{seed.hello['id']}?event=push%3Btrue%20%60x%60%7Csh%20%23"
    async with open_dashboard(store, seed.token) as browser:
        page = await browser.page(link)
    (command,) = {one for one in re.findall(r'data-copy="([^"]*)"', page) if "hub.topic" in one}
    (topic,) = (word for word in unescape(command).split() if "hub.topic" in word)
    assert topic.endswith("/octo/hello/events/push%3Btrue%20%60x%60%7Csh%20%23")
    assert unescape(command).endswith("hub.secret=SECRET")


async def test_topics_of_others_are_not_shown(store: Store, seed: Any) -> None:
    async with open_dashboard(store, seed.reader_token) as browser:
        assert "Nothing that you may see" in text_of(await browser.page("/ui/topics"))
        answer = await browser.get(f"/ui/topics/{seed.vault['id']}")
        assert answer.status_code in (403, 404)
