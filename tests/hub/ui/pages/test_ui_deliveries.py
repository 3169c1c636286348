"""The dashboard's deliveries: the tail and its filters, the live stream, and one delivery."""

import asyncio
import hashlib
import hmac
import json
import re
import shlex
from contextlib import AsyncExitStack
from typing import Any

import pytest
from dashboard_client import next_page, open_dashboard, text_of
from engines import embedded
from ui_world import BODY, HEAD, SECRET, World

from hub.ui import stream, stream_places
from hub.ui.datetime_fields import field_of
from store import Connection
from store.clock import HOUR, MINUTE, SECOND, MovableClock
from store.delivery import attempt_feed, hook_removal
from store.errors import Unavailable
from store.hooks import hook_links, hooks


def guids(page: str) -> list[str]:
    return re.findall(r'class="guid">([^<]+)<', page)


class TestTail:
    async def test_users_see_the_deliveries_of_their_hooks(self, world: World) -> None:
        world.send(world.good, "a", "b")
        world.send(world.other, "c")
        world.send(world.hidden, "d")
        async with open_dashboard(world.store, world.seed.token) as browser:
            assert guids(await browser.page("/ui/deliveries")) == ["d", "b", "a"]
            browser.client.cookies.clear()
            await browser.sign_in(world.operator)
            assert guids(await browser.page("/ui/deliveries")) == ["d", "c", "b", "a"]
            browser.client.cookies.clear()
            await browser.sign_in(world.seed.reader_token)
            page = text_of(await browser.page("/ui/deliveries"))
            assert "Nothing that you may see" in page

    async def test_filters_of_deliveries(self, world: World) -> None:
        world.send(world.good, "ok")
        world.send(world.failing, "five", status_code=500)
        world.send(world.failing, "none", status_code=None, error="connect: refused <b>")
        world.send(world.hidden, "issue", name="issues")
        good, failing = world.good["id"], world.failing["id"]
        asked = {
            "status=success": ["issue", "ok"], "status=failure": ["none", "five"],
            "status=x": ["issue", "none", "five", "ok"], "event=issues": ["issue"],
            "event=nothing": [], "repository=octo/vault": ["issue"], "repository=no/thing": [],
            f"hook={good}": ["ok"], f"hook={failing}&status=failure": ["none", "five"],
            "hook=nowhere": [], "guid=five": ["five"], "guid=%00%27": [], "guid=none&hook=1": [],
            f"hook={failing}&event=issues": [], f"hook={good}&status=success": ["ok"],
            "hook=example/fail": ["none", "five"], "hook=example/fail&event=issues": [],
            "hook=example/other": [], "repository=vault": ["issue"], "event=iss": ["issue"],
            "event=push.": [], "event=%25": [], "code=500": ["five"], "code=5xx": ["five"],
            f"hook={good}&repository=octo/hello": ["ok"], f"hook={good}&repository=vault": [],
            f"hook={good}&repository=no/thing": [], "hook=example/good&repository=vault": [],
            "code=none": ["none"], "code=2xx&hook=example/g": ["ok"], "code=404": [],
        }  # fmt: skip
        async with open_dashboard(world.store, world.seed.token) as browser:
            for query, expected in asked.items():
                assert guids(await browser.page(f"/ui/deliveries?{query}")) == expected, query
            page = await browser.page("/ui/deliveries?status=failure")
            assert "refused <b>" in text_of(page)
            assert "retry in 5 min" in text_of(page)
            assert '<option value="failure" selected>' in page
            # The id of another's hook is a text to search for, as the number of a port is.
            page = await browser.page(f"/ui/deliveries?hook={world.other['id']}&code=abc")
            assert guids(page) == []
            assert "none. The list is not limited by it." in text_of(page)
            page = await browser.page("/ui/deliveries?guid=ok&text=five")
            assert guids(page) == ["ok"]
            assert "Only the id limits the list." in text_of(page)
            browser.client.cookies.clear()
            await browser.sign_in(world.operator)
            for query, expected in asked.items():
                assert guids(await browser.page(f"/ui/deliveries?{query}")) == expected, query

    async def test_events_are_named_as_lists_show_them(self, world: World) -> None:
        for action in ("opened", "closed"):
            body = json.dumps({"action": action}).encode()
            world.send(world.good, f"{action}-1", name="issues", body=body, action=action)
        asked = {
            "issues.opened": ["opened-1"], "issues": ["closed-1", "opened-1"],
            "open": ["opened-1"], "ISSUES.CLOSED": ["closed-1"], "issues.o*": ["opened-1"],
        }  # fmt: skip
        for token in (world.seed.token, world.operator):
            async with open_dashboard(world.store, token, last=token == world.operator) as browser:
                for text, expected in asked.items():
                    page = await browser.page(f"/ui/deliveries?event={text}")
                    assert guids(page) == expected, text
                    events = text_of(await browser.page(f"/ui/events?event={text}"))
                    for guid in ("opened-1", "closed-1"):
                        named = f"issues.{guid.removesuffix('-1')} number"
                        assert (named in events) == (guid in expected), text

    async def test_deliveries_of_a_period(self, world: World, clock: MovableClock) -> None:
        start = clock.now()
        for number in range(6):
            world.send(world.good, f"n{number}")
            clock.advance(seconds=HOUR // SECOND)
        since, until = (field_of(start + hours * HOUR - MINUTE) for hours in (2, 4))
        asked = {
            "range=1h": ["n5"], "range=6h": ["n5", "n4", "n3", "n2", "n1", "n0"], "range=x": 6,
            f"since={since}&until={until}": ["n3", "n2"], f"until={since}": ["n1", "n0"],
            f"since={since}&event=push&hook=example/good": ["n5", "n4", "n3", "n2"],
            f"range=1h&since={since}&until={until}": ["n3", "n2"],
        }  # fmt: skip
        for token in (world.seed.token, world.operator):
            async with open_dashboard(world.store, token, last=token == world.operator) as browser:
                for query, expected in asked.items():
                    found = guids(await browser.page(f"/ui/deliveries?{query}"))
                    assert found == expected or len(found) == expected, query
                    said = text_of(await browser.page(f"/ui/events?{query}"))
                    assert said.count("push number") == len(found), query
                page = await browser.page(f"/ui/deliveries?until={until}")
                assert "data-stream=" not in page
                for wrong in ("since=x", f"since={until}&until={since}", "code=6000"):
                    assert 'role="alert"' in await browser.page(f"/ui/deliveries?{wrong}"), wrong

    async def test_the_list_of_deliveries_in_pages(self, world: World) -> None:
        for start in range(0, 120, 30):
            hook = (world.good, world.failing)[start // 30 % 2]
            world.send(hook, *(f"n{number:03}" for number in range(start, start + 30)))
        for token in (world.seed.token, world.operator):
            async with open_dashboard(world.store, token, last=token == world.operator) as browser:
                seen: list[str] = []
                place = "/ui/deliveries"
                while place:
                    page = await browser.page(place)
                    seen += guids(page)
                    place = next_page(page) if 'rel="next"' in page else ""
                assert seen == [f"n{number:03}" for number in reversed(range(120))]

    async def test_a_search_can_go_on_further_back(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(attempt_feed, "WINDOW", 10)
        world.send(world.good, "rare", name="issues")
        world.send(world.good, *(f"n{number}" for number in range(25)))
        for token in (world.seed.token, world.operator):
            async with open_dashboard(world.store, token, last=token == world.operator) as browser:
                place, steps = "/ui/deliveries?event=issues", 0
                while not guids(page := await browser.page(place)):
                    assert "Search further back" in text_of(page)
                    (place,) = re.findall(r'href="([^"]+)">Search further back', page)
                    place = place.replace("&amp;", "&")
                    steps += 1
                assert guids(page) == ["rare"]
                assert steps >= 1


class TestLive:
    @pytest.fixture(autouse=True)
    def quick(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(stream, "PACE", 0.02)

    async def test_new_deliveries_appear_live(self, world: World) -> None:
        world.send(world.good, "before")
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = await browser.page("/ui/deliveries")
            (place,) = re.findall(r'data-stream="([^"]+)"', page)
            async with browser.listening(place.replace("&amp;", "&")) as heard:
                await heard.until("begin")
                world.send(world.other, "theirs")
                world.send(world.good, "after", response_body="x")
                text = await heard.until("after")
            assert heard.status == 200
            assert '"event":"attempts"' in text
            assert "before" not in text
            assert "theirs" not in text
            assert all(
                line.startswith(("data: ", "event: ", ":")) or not line for line in text.split("\n")
            )

    async def test_new_deliveries_of_one_hook_have_the_columns_of_the_list(
        self, world: World
    ) -> None:
        link = f'<a href=\\"/ui/hooks/{world.good["id"]}\\">'
        at = f"hook={world.good['id']}&after=0"
        world.send(world.good, "a")
        async with open_dashboard(world.store, world.seed.token) as browser:
            async with browser.listening(f"/ui/deliveries/live?{at}") as heard:
                assert link in await heard.until('"event":"attempts"')
            async with browser.listening(f"/ui/hooks/{world.good['id']}/live?after=0") as heard:
                assert link not in await heard.until('"event":"attempts"')

    async def test_filters_hold_for_live_deliveries(self, world: World) -> None:
        async with open_dashboard(world.store, world.operator) as browser:
            place = "/ui/deliveries/live?status=failure&event=push"
            async with browser.listening(place) as heard:
                await heard.until("begin")
                world.send(world.good, "fine")
                world.send(world.failing, "issue", name="issues", status_code=500)
                world.send(world.failing, "bad", status_code=500)
                text = await heard.until("bad")
            assert "fine" not in text
            assert "issue" not in text

    async def test_a_hook_s_stream_shows_its_own_deliveries(self, world: World) -> None:
        async with (
            open_dashboard(world.store, world.seed.token) as browser,
            browser.listening(f"/ui/hooks/{world.good['id']}/live") as heard,
        ):
            await heard.until("begin")
            world.send(world.failing, "other")
            world.send(world.good, "this")
            assert "other" not in await heard.until("this")

    async def test_the_view_of_a_hook_ends_with_it(self, world: World) -> None:
        async with (
            open_dashboard(world.store, world.seed.token) as browser,
            browser.listening(f"/ui/hooks/{world.good['id']}/live") as heard,
        ):
            await heard.until("begin")
            world.store.write_sync(hook_removal.delete, world.good)
            assert '"event":"ended"' in await heard.until('"event":"ended"')

    async def test_the_live_stream_ends_with_the_session(self, world: World) -> None:
        async with (
            open_dashboard(world.store, world.seed.token) as browser,
            browser.listening("/ui/deliveries/live") as heard,
        ):
            await heard.until("begin")
            world.store.write_sync(lambda db: db.execute("DELETE FROM token"))
            assert "event: ended" in await heard.until("ended")
            assert heard.ended

    @embedded("the engine makes no difference")
    async def test_the_live_stream_needs_a_sign_in(self, world: World) -> None:
        async with (
            open_dashboard(world.store) as browser,
            browser.listening("/ui/deliveries/live /ui/live") as heard,
        ):
            text = await heard.until("ended")
            assert "update" not in text
            assert heard.ended

    async def test_several_views_in_one_stream(self, world: World) -> None:
        good, failing = (f"/ui/hooks/{one['id']}/live" for one in (world.good, world.failing))
        async with (
            open_dashboard(world.store, world.seed.token) as browser,
            browser.listening(f"{good} /ui/nothing/live {failing}") as heard,
        ):
            await heard.until("begin")
            world.send(world.good, "first")
            assert '"view":0,' in (await heard.until("first")).rpartition("update")[2]
            world.send(world.failing, "second")
            assert '"view":2,' in (await heard.until("second")).rpartition("update")[2]

    async def test_a_view_continues_after_its_last_update(self, world: World) -> None:
        async with open_dashboard(world.store, world.seed.token) as browser:
            async with browser.listening("/ui/deliveries/live?status=success") as heard:
                await heard.until("begin")
                (last,) = world.send(world.good, "before")
                text = await heard.until("before")
            (following,) = re.findall(r'"next":"([^"]+)"', text)
            assert following == f"/ui/deliveries/live?status=success&resumed=1&after={last}"
            async with browser.listening(following) as heard:
                await heard.until("begin")
                world.send(world.good, "after")
                assert "before" not in await heard.until("after")

    async def test_a_view_ends_alone_where_access_ends(self, world: World) -> None:
        jobs, mine = "/ui/audit/check/live", f"/ui/hooks/{world.good['id']}/live"
        async with (
            open_dashboard(world.store, world.seed.token) as browser,
            browser.listening(f"{jobs} {mine}") as heard,
        ):
            text = await heard.until("ended")
            assert '{"view":0,"event":"ended"}' in text
            world.send(world.good, "still-here")
            assert '"view":1,' in await heard.until("still-here")

    @embedded("the engine makes no difference")
    async def test_another_session_ends_it(self, world: World) -> None:
        async with open_dashboard(world.store, world.seed.token) as browser:
            (mark,) = re.findall(r'data-mark="(\w+)"', await browser.page("/ui"))
            async with browser.listening("/ui/deliveries/live", mark=mark) as heard:
                await heard.until("begin")
                world.send(world.good, "mine")
                await heard.until("mine")
            await browser.post("/ui/sign-out")
            await browser.sign_in(world.operator)
            async with browser.listening("/ui/deliveries/live", mark=mark) as heard:
                assert "update" not in await heard.until("ended")
                assert heard.ended

    @embedded("the engine makes no difference")
    async def test_the_number_of_streams_is_bounded(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stream_places, "MOST", 1)
        async with open_dashboard(world.store, world.seed.token) as browser:
            async with browser.listening("/ui/live") as heard:
                await heard.until("begin")
                assert (await browser.get("/ui/stream?at=/ui/live")).status_code == 503
            async with browser.listening("/ui/live") as heard:
                await heard.until("begin")
                assert heard.status == 200

    @embedded("the engine makes no difference")
    @pytest.mark.parametrize("share", ["session", "user"])
    async def test_the_newest_streams_of_a_viewer_have_the_places(
        self, world: World, monkeypatch: pytest.MonkeyPatch, share: str
    ) -> None:
        monkeypatch.setitem(stream_places.SHARES, share, 2)
        at = "/ui/deliveries/live"
        async with (
            open_dashboard(world.store, world.seed.token) as browser,
            AsyncExitStack() as all_,
        ):
            heard = [await all_.enter_async_context(browser.listening(at)) for _ in range(2)]
            for one in heard:
                await one.until("begin")
            newest = await all_.enter_async_context(browser.listening(at))
            assert (await heard[0].until("crowded")).endswith("event: crowded\ndata: {}\n\n")
            world.send(world.good, "after")
            for one in (heard[1], newest):
                await one.until("after")

    @embedded("the engine makes no difference")
    @pytest.mark.parametrize(("most", "opened"), [(3, 3), (200, 4)])
    async def test_streams_that_lost_their_place_count_until_they_end(
        self, world: World, monkeypatch: pytest.MonkeyPatch, most: int, opened: int
    ) -> None:
        monkeypatch.setattr(stream_places, "MOST", most)
        monkeypatch.setitem(stream_places.SHARES, "session", 2)
        monkeypatch.setattr(stream, "PACE", 60.0)  # They do not notice it.
        at = "/ui/deliveries/live"
        async with open_dashboard(world.store, world.seed.token) as browser:
            async with AsyncExitStack() as all_:
                for _ in range(opened):
                    heard = await all_.enter_async_context(browser.listening(at))
                    await heard.until("begin")
                assert (await browser.get(f"/ui/stream?at={at}")).status_code == 503
            async with browser.listening(at) as heard:
                await heard.until("begin")
                assert heard.status == 200

    @embedded("the engine makes no difference")
    async def test_guests_of_one_hook_take_no_streams_of_another_s(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(stream_places.SHARES, "hook", 1)
        monkeypatch.setitem(stream_places.SHARES, "guests", 2)
        async with open_dashboard(world.store) as guest, AsyncExitStack() as all_:
            heard = []
            for hook in (world.good, world.other, world.other):
                link, _ = world.store.write_sync(hook_links.create, hook["id"], "", "octo", HOUR)
                guest.client.cookies.clear()
                await guest.post("/ui/shared", {"link": link}, on=f"/ui/shared?link={link}")
                live = guest.listening(f"/ui/hooks/{hook['id']}/live")
                heard.append(await all_.enter_async_context(live))
                await heard[-1].until("begin")
            await heard[1].until("crowded")
            world.send(world.good, "after")
            assert "crowded" not in await heard[0].until("after")

    @embedded("the engine makes no difference")
    async def test_guests_have_a_part_of_the_streams(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stream_places, "MOST", 5)
        monkeypatch.setitem(stream_places.SHARES, "guests", 2)
        link, _ = world.store.write_sync(hook_links.create, world.good["id"], "", "octo", HOUR)
        async with open_dashboard(world.store, last=False) as guest, AsyncExitStack() as all_:
            for _ in range(4):
                guest.client.cookies.clear()
                await guest.post("/ui/shared", {"link": link}, on=f"/ui/shared?link={link}")
                place = f"/ui/hooks/{world.good['id']}/live"
                heard = await all_.enter_async_context(guest.listening(place))
                await heard.until("begin")
            async with (
                open_dashboard(world.store, world.seed.token, last=False) as browser,
                browser.listening("/ui/live") as mine,
            ):
                await mine.until("begin")
                assert mine.status == 200
        await world.store.close()

    @embedded("the engine makes no difference")
    async def test_the_live_stream_goes_on_after_an_outage_of_the_store(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with (
            open_dashboard(world.store, world.seed.token) as browser,
            browser.listening("/ui/deliveries/live") as heard,
        ):
            await heard.until("begin")

            async def gone(*given: Any, **named: Any) -> None:
                raise Unavailable("no disk")

            with monkeypatch.context() as patched:
                patched.setattr(world.store, "read_of", gone)
                await asyncio.sleep(0.1)
            world.send(world.good, "after")
            await heard.until("after")
            assert not heard.ended


class TestOne:
    @embedded("the engine makes no difference")
    async def test_a_delivery_shows_request_and_answer(self, world: World) -> None:
        (number,) = world.send(world.good, "guid-a")
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = await browser.page(f"/ui/deliveries/{number}")
            text = text_of(page)
            for said in (
                "guid-a", '"mark": "<b>&"', "thanks <i>", "192.0.2.1:443", "Content-Type: text",
                "delivered", "Not signed",
            ):  # fmt: skip
                assert said in text
            for raw in ("<b>&", "thanks <i>"):
                assert raw not in page
            assert "Wait for the response after 10 ms, for 29 ms." in page
            assert SECRET not in page

    async def test_the_receiver_s_request_to_wait_is_shown(self, world: World) -> None:
        until = world.store.clock.now() + 120 * SECOND
        (attempt,) = world.send(
            world.failing,
            "slow",
            status_code=429,
            instruction="retry-after=120",
            throttled=True,
            held_until=until,
        )
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = text_of(await browser.page(f"/ui/deliveries/{attempt}"))
            assert "The receiver asked retry-after=120" in page
            hook = text_of(await browser.page(f"/ui/hooks/{world.failing['id']}"))
            assert "Held back by its receiver" in hook

    async def test_a_batch_is_named(self, world: World) -> None:
        head = (
            "POST / HTTP/1.1\r\nContent-Type: application/json\r\nwebhook-id: batch-7\r\n"
            "webhook-batch: 3\r\nX-Hub-Signature-256: sha256=00\r\n\r\n"
        )
        (attempt,) = world.send(world.failing, "a", status_code=500, request_head=head)
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = await browser.page(f"/ui/deliveries/{attempt}")
            assert "Batch batch-7 , events: 3" in text_of(page)
            # The hub does not keep the whole body of a batch, which the signature covers.
            assert "earlier secret" not in page
            assert "Copy as curl" not in page
            assert "Redeliver" in page

    async def test_a_delivery_that_failed_once_shows_its_next_attempt(self, world: World) -> None:
        (number,) = world.send(world.failing, "a", status_code=500)
        async with open_dashboard(world.store, world.seed.token) as browser:
            text = text_of(await browser.page(f"/ui/deliveries/{number}"))
            assert "pending , next attempt" in text
            assert "All attempts" not in text

    async def test_a_delivery_of_others_is_refused(self, world: World) -> None:
        (number,) = world.send(world.other, "a")
        async with open_dashboard(world.store, world.seed.token) as browser:
            assert (await browser.get(f"/ui/deliveries/{number}")).status_code == 403
            for none in ("99999", "0", "x", "1%00"):
                assert (await browser.get(f"/ui/deliveries/{none}")).status_code == 404

    @embedded("the engine makes no difference")
    async def test_a_delivery_shows_if_its_signature_is_valid(self, world: World) -> None:
        signed = hmac.new(SECRET.encode(), BODY, hashlib.sha256).hexdigest()
        head = f"{HEAD}\r\nX-Hub-Signature-256: sha256={signed}"
        (number,) = world.send(world.good, "a", request_head=head)
        (wrong,) = world.send(world.good, "b", request_head=head[:-1] + "x")
        async with open_dashboard(world.store, world.seed.token) as browser:
            text = text_of(await browser.page(f"/ui/deliveries/{number}"))
            assert "made with the present secret" in text
            text = text_of(await browser.page(f"/ui/deliveries/{wrong}"))
            assert "made with an earlier secret" in text

    @embedded("the engine makes no difference")
    async def test_a_delivery_is_shown_as_a_curl_command(self, world: World) -> None:
        body = b"""{"it's":"$HOME `x` \\\\ \\"q\\""}"""
        (number,) = world.send(world.good, "a", body=body)
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = await browser.page(f"/ui/deliveries/{number}")
        found = re.search(r'<pre id="curl"[^>]*>(.*?)</pre>', page, re.DOTALL)
        assert found is not None
        words = shlex.split(text_of(found[1].replace("\\\n", " ")))
        assert words[:4] == ["curl", "-i", "-X", "POST"]
        assert words[-1] == world.good["url"]
        assert words[words.index("--data-raw") + 1] == body.decode()
        assert "X-Service-Event: push" in words
        assert not any(word.startswith(("Host", "Content-Length")) for word in words)

    @embedded("the engine makes no difference")
    async def test_brackets_and_braces_are_no_pattern_in_the_curl_command(
        self, world: World
    ) -> None:
        url = "https://receiver.example/in?tags[]=a&n=[1-3]&of={x,y}"
        hook = world.store.write_sync(hooks.update, world.good, url=url)
        (number,) = world.send(hook, "a")
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = await browser.page(f"/ui/deliveries/{number}")
        (command,) = re.findall(r'<pre id="curl"[^>]*>(.*?)</pre>', page, re.DOTALL)
        words = shlex.split(text_of(command.replace("\\\n", " ")))
        assert (words[-1], "-g" in words) == (url, True)

    async def test_a_delivery_without_its_payload_cannot_be_sent_again(self, world: World) -> None:
        (number,) = world.send(world.good, "a")
        world.store.write_sync(lambda db: db.execute("UPDATE event SET body = NULL"))
        async with open_dashboard(world.store, world.seed.token) as browser:
            at = f"/ui/deliveries/{number}"
            page = await browser.page(at)
            assert "The payload has been deleted" in text_of(page)
            assert "Redeliver" not in text_of(page)
            answer = await browser.post(f"{at}/again", on=at)
            assert answer.status_code == 422
            assert "no longer kept" in text_of(answer.text)

    async def test_a_delivery_can_be_redelivered(self, world: World) -> None:
        (number,) = world.send(world.good, "a")
        at = f"/ui/deliveries/{number}"
        async with open_dashboard(world.store, world.seed.token) as browser:
            answer = await browser.post(f"{at}/again", on=at)
            assert (answer.status_code, answer.headers["location"]) == (
                303,
                f"/ui/hooks/{world.good['id']}",
            )
            rows = world.store.read_sync(_deliveries)
            assert [row["redelivery"] for row in rows] == [0, 1]
            assert rows[0]["event_id"] == rows[1]["event_id"]
            (entry,) = world.store.read_sync(
                lambda db: db.all("SELECT target FROM audit WHERE action = 'ui/redeliver'")
            )
            assert entry["target"] == f"{at}/again"
            browser.client.cookies.clear()
            await browser.sign_in(world.look_only)
            assert "Redeliver" not in text_of(await browser.page(at))
            assert (await browser.post(f"{at}/again", on=at)).status_code == 403

    async def test_a_delivery_of_a_deleted_hook_cannot_be_redelivered(self, world: World) -> None:
        (number,) = world.send(world.good, "a")
        world.store.write_sync(hook_removal.delete, world.good)
        async with open_dashboard(world.store, world.operator) as browser:
            at = f"/ui/deliveries/{number}"
            assert "Redeliver" not in text_of(await browser.page(at))
            assert (await browser.post(f"{at}/again", on="/ui")).status_code == 404
            browser.client.cookies.clear()
            await browser.sign_in(world.seed.token)
            assert (await browser.get(at)).status_code == 404


def _deliveries(db: Connection) -> list[dict[str, Any]]:
    return db.all("SELECT * FROM delivery ORDER BY id")


async def test_a_delivery_in_another_format_is_shown(world: World) -> None:
    head = "POST / HTTP/1.1\r\nContent-Type: application/json\r\nwebhook-format: thin"
    (number,) = world.send(world.good, "guid-a", request_head=head)
    async with open_dashboard(world.store, world.seed.token) as browser:
        text = text_of(await browser.page(f"/ui/deliveries/{number}"))
        assert '"related_object": null' in text
        assert '"id": "guid-a"' in text
        assert f'"full_name": "{world.seed.hello["full_name"]}"' in text, "of the event"
