"""The search of every page finds events, deliveries, attempts, hooks and repositories."""

import pytest
from dashboard_client import Browser, open_dashboard, text_of
from ui_rows import arrive
from ui_world import World

from store import Connection
from store.accounts import accounts
from store.delivery import deliveries, event_lookup, events, rejections
from store.delivery.incoming import IncomingEvent
from store.hooks import hooks
from store.hooks.hook_targets import SYSTEM
from store.repositories import repositories

GUID = "72d3162e-cc78-11e3-81ab-4c9367dc0958"


async def led_to(browser: Browser, text: str) -> str:
    """The path to which a search leads."""
    answer = await browser.client.get("/ui/find", params={"q": text})
    assert answer.status_code == 303, text_of(answer.text)
    return answer.headers["location"]


async def found(browser: Browser, text: str) -> str:
    """The page of a search that leads to no page."""
    answer = await browser.client.get("/ui/find", params={"q": text})
    assert answer.status_code == 200
    return answer.text


def redelivered(db: Connection, world: World, event_id: int, many: int) -> int:
    """Deliver an event to the good hook `many` times more. Return the first new delivery."""
    repo_id = world.seed.hello["id"]
    made = [deliveries.redeliver(db, event_id, world.good["id"], repo_id) for _ in range(many)]
    return made[0]


async def test_each_page_has_the_search(world: World) -> None:
    async with open_dashboard(world.store, world.seed.token) as browser:
        for path in ("/ui", "/ui/hooks", "/ui/deliveries", "/ui/sessions", "/ui/find"):
            assert 'action="/ui/find"' in await browser.page(path)
        assert 'value="a &#34;b"' in await found(browser, 'a "b')


async def test_a_delivery_id_leads_to_the_event(world: World) -> None:
    world.send(world.good, GUID)
    async with open_dashboard(world.store, world.seed.token) as browser:
        assert await led_to(browser, f"  {GUID} ") == "/ui/events/1"
        assert GUID in await browser.page("/ui/events/1")


async def test_the_number_of_a_delivery_leads_to_the_event_with_the_delivery_marked(
    world: World,
) -> None:
    world.send(world.good, GUID)
    number = world.store.write_sync(redelivered, world, 1, 300)
    async with open_dashboard(world.store, world.seed.token) as browser:
        place = await led_to(browser, str(number + 250))
        assert place == f"/ui/events/1?delivery={number + 250}#delivery-{number + 250}"
        for marked in (number, number + 250):
            page = await browser.page(f"/ui/events/1?delivery={marked}")
            assert page.count('<tr id="delivery-') in (100, 101)
            assert f'<tr id="delivery-{marked}" aria-current="true">' in page
            assert page.count("this one") == 1


async def test_a_number_of_several_things_lists_them(world: World) -> None:
    world.send(world.good, GUID)
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = await found(browser, "1")
        for place in ("/ui/events/1", "/ui/events/1?delivery=1#delivery-1", "/ui/deliveries/1"):
            assert f'href="{place}"' in page
        assert f'href="/ui/hooks/{world.good["id"]}"' in page


async def test_a_name_finds_repositories_and_endpoints(world: World) -> None:
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = await found(browser, "octo/hell")
        assert 'href="/ui/events?repository=octo%2Fhello"' in page
        assert 'href="/ui/hooks?repository=octo%2Fhello"' in page
        page = await found(browser, "example/fail")
        assert f'href="/ui/hooks/{world.failing["id"]}"' in page
        assert f'href="/ui/hooks/{world.good["id"]}"' not in page


@pytest.mark.parametrize("text", ["theirs", "receiver.example/other", "secret", "2", "3"])
async def test_the_search_hides_rows_of_others(world: World, text: str) -> None:
    (attempt,) = world.send(world.other, "secret")
    assert attempt == 1
    world.store.write_sync(redelivered_elsewhere, world)
    async with open_dashboard(world.store, world.seed.reader_token) as browser:
        page = await found(browser, text)
        assert "Nothing that you may see" in text_of(page)
        assert "theirs/thing" not in page


def redelivered_elsewhere(db: Connection, world: World) -> None:
    for _ in range(2):
        deliveries.redeliver(db, 1, world.other["id"], world.other["repo_id"])


async def test_a_rejected_event_is_found_with_the_reason(world: World) -> None:
    given = {"path": "/events", "reason": "the signature is wrong", "sender": "source forge"}
    world.store.write_sync(rejections.add, guid=GUID, event="push", **given)
    world.store.write_sync(rejections.add, guid="other", event="push", path="/events", reason="no")
    async with open_dashboard(world.store, world.operator) as browser:
        page = text_of(await found(browser, GUID))
        assert "was rejected" in page
        assert "the signature is wrong" in page
        page = text_of(await browser.page("/ui/rejected"))
        assert "2 events" in page
        page = text_of(await browser.page(f"/ui/rejected?guid={GUID}"))
        assert "1 event" in page
        assert "the signature is wrong" in page
        assert "other" not in page.partition("Rejected events")[2].partition("source forge")[2]
        browser.client.cookies.clear()
        await browser.sign_in(world.seed.token)
        assert "signature" not in await found(browser, GUID)
        assert (await browser.get("/ui/rejected")).status_code == 403


async def test_a_search_without_result_names_the_oldest_event(world: World) -> None:
    arrive_at = world.store.write_sync(arrive, world.seed.hello["id"])
    assert arrive_at == 1
    async with open_dashboard(world.store, world.operator) as browser:
        page = text_of(await found(browser, GUID))
        assert "The oldest event that is stored is of" in page
        assert "it did not come in" in page


async def test_the_list_of_events_has_a_filter_by_id(world: World) -> None:
    world.send(world.good, GUID, "other")
    number = world.store.write_sync(redelivered, world, 1, 1)
    async with open_dashboard(world.store, world.seed.token) as browser:
        for text, link in (
            (GUID, "/ui/events/1"),
            (str(number), f"/ui/events/1?delivery={number}"),
        ):
            page = await browser.page(f"/ui/events?guid={text}")
            assert "1 event" in text_of(page)
            assert f'<a href="{link}">' in page
        page = await browser.page(f"/ui/events?guid={GUID}&event=issues")
        assert "No matching events" in page
        page = await browser.page(f"/ui/events?guid={GUID}&repository=octo/vault")
        assert "No matching events" in page
        browser.client.cookies.clear()
        await browser.sign_in(world.seed.reader_token)
        assert "/ui/events/1" not in await browser.page(f"/ui/events?guid={GUID}")


async def test_a_delivery_to_a_hook_of_the_installation_is_found_by_operators_alone(
    world: World,
) -> None:
    """The viewer may see the event, and not that the installation has a hook for it."""

    def deliver_to_all(db: Connection) -> int:
        everywhere = hooks.create(
            db, SYSTEM, url="https://receiver.example/all", events=["push"], content_type="json"
        )
        return deliveries.redeliver(db, 1, everywhere["id"], world.seed.hello["id"])

    world.send(world.good, GUID)
    world.store.write_sync(redelivered, world, 1, 20)
    number = world.store.write_sync(deliver_to_all)
    async with open_dashboard(world.store, world.seed.token) as browser:
        assert "Nothing that you may see" in text_of(await found(browser, str(number)))
        assert "No matching events" in await browser.page(f"/ui/events?guid={number}")
        browser.client.cookies.clear()
        await browser.sign_in(world.operator)
        assert await led_to(browser, str(number)) == (
            f"/ui/events/1?delivery={number}#delivery-{number}"
        )
        assert "1 event" in text_of(await browser.page(f"/ui/events?guid={number}"))


async def test_hidden_events_with_the_same_delivery_id_hide_no_other(world: World) -> None:
    """Each sender chooses the ids of its own events."""
    world.send(world.good, GUID)
    world.store.write_sync(arrive_elsewhere, world, 2 * event_lookup.MOST)
    async with open_dashboard(world.store, world.seed.token) as browser:
        assert await led_to(browser, GUID) == "/ui/events/1"
        page = text_of(await browser.page(f"/ui/events?guid={GUID}"))
        assert "1 event" in page


def arrive_elsewhere(db: Connection, world: World, many: int) -> None:
    theirs = accounts.by_login(db, "theirs")
    assert theirs is not None
    for number in range(many):
        repo = repositories.create(db, theirs["id"], f"copy-{number}")
        events.insert(db, [IncomingEvent(repo["id"], GUID, repo["id"], "push", b"{}")])
