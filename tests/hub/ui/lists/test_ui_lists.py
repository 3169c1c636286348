"""Lists in the order of a column, the number of their matches, and saved views."""

import re
from urllib.parse import quote

import pytest
from dashboard_client import next_page, open_dashboard, text_of
from ui_world import World, hook

from store.clock import HOUR, SECOND, MovableClock
from store.delivery.listing import attempt_list
from store.hooks import hooks


def guids(page: str) -> list[str]:
    return re.findall(r'class="guid">([^<]+)<', page)


class TestOrder:
    async def test_deliveries_by_a_column(self, world: World) -> None:
        for guid, code, took in (("a", 200, 30), ("b", 500, 10), ("c", None, 20), ("d", 204, 40)):
            error = "connect: refused" if code is None else None
            world.send(world.good, guid, status_code=code, error=error, duration=took * 1000)
        asked = {
            "sort=-duration": "dacb", "sort=duration": "bcad", "sort=time": "abcd",
            "sort=-time": "dcba", "sort=outcome": "cadb", "sort=-outcome": "bdac",
            "sort=nothing": "dcba", "sort=-duration&status=success": "da",
        }  # fmt: skip
        for token in (world.seed.token, world.operator):
            async with open_dashboard(world.store, token, last=token == world.operator) as browser:
                for query, expected in asked.items():
                    page = await browser.page(f"/ui/deliveries?{query}")
                    assert guids(page) == list(expected), query
                page = await browser.page("/ui/deliveries?sort=-duration&status=success")
                assert 'aria-sort="descending"' in page
                assert 'href="/ui/deliveries?status=success&amp;sort=duration"' in page
                assert 'name="sort" value="-duration"' in page
                assert "data-stream=" not in page

    async def test_pages_of_a_sorted_list_do_not_move(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("hub.ui.pages.deliveries.PAGE", 2)
        for number in range(5):
            world.send(world.good, f"n{number}", duration=1000 + number)
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = await browser.page("/ui/deliveries?sort=-duration")
            assert guids(page) == ["n4", "n3"]
            world.send(world.good, "new", duration=9000)
            page = await browser.page(next_page(page))
            assert guids(page) == ["n2", "n1"]
            page = await browser.page(next_page(page))
            assert guids(page) == ["n0"]
            assert 'rel="next"' not in page

    async def test_only_the_newest_are_sorted(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(attempt_list, "WINDOW", 3)
        for number in range(5):
            world.send(world.good, f"n{number}", duration=9000 - number)
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = await browser.page("/ui/deliveries?sort=-duration")
            assert guids(page) == ["n2", "n3", "n4"]
            assert "Sorted are the newest 3 matching attempts" in text_of(page)

    async def test_events_by_their_size(self, world: World) -> None:
        for guid, size in (("small", 5), ("large", 500), ("middle", 50)):
            body = b'{"mark": "' + b"x" * size + b'"}'
            world.send(world.good, guid, name=guid, body=body)
        for token in (world.seed.token, world.operator):
            async with open_dashboard(world.store, token, last=token == world.operator) as browser:
                page = text_of(await browser.page("/ui/events?sort=-size"))
                assert re.findall("(small|middle|large) number", page) == [
                    "large",
                    "middle",
                    "small",
                ]

    async def test_hooks_by_their_endpoint(self, world: World) -> None:
        async with open_dashboard(world.store, world.operator) as browser:
            page = await browser.page("/ui/hooks?sort=endpoint")
            found = re.findall(r'<td class="url"><a href="[^"]+">([^<]+)', page)
            assert found == sorted(found)
            page = await browser.page("/ui/hooks?sort=-endpoint")
            assert re.findall(r'<td class="url"><a href="[^"]+">([^<]+)', page) == found[::-1]


class TestMatches:
    async def test_numbers_of_matches(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        for number in range(5):
            world.send(world.good, f"n{number}", status_code=500 if number % 2 else 200)
        for token in (world.seed.token, world.operator):
            async with open_dashboard(world.store, token, last=token == world.operator) as browser:
                for query, expected in {
                    "": "5 delivery attempts", "status=failure": "2 delivery attempts",
                    "code=200": "3 delivery attempts", "event=push&hook=1": "5 delivery attempts",
                    "hook=example/nothing": "0 delivery attempts",
                }.items():  # fmt: skip
                    page = text_of(await browser.page(f"/ui/deliveries?{query}"))
                    assert expected in page, query
                assert "5 events" in text_of(await browser.page("/ui/events"))
                assert "5 events" in text_of(await browser.page("/ui/events?event=push"))
                page = text_of(await browser.page("/ui/hooks?repository=octo/hello"))
                assert re.search(r"\d+ hooks Endpoint", page), page
                with monkeypatch.context() as patched:
                    patched.setattr(attempt_list, "MOST", 2)
                    patched.setattr("store.database.list_order.MOST", 2)
                    patched.setattr(attempt_list, "WINDOW", 3)
                    page = text_of(await browser.page("/ui/deliveries"))
                    assert "more than 2 delivery attempts" in page
                    page = text_of(await browser.page("/ui/deliveries?code=200"))
                    assert "in the newest 3 delivery attempts" in page


class TestFilters:
    async def test_hooks_by_event_endpoint_and_age(self, world: World, clock: MovableClock) -> None:
        clock.advance(seconds=2 * HOUR // SECOND)
        made = world.store.write_sync(
            lambda db: hooks.create(
                db, world.good["repo_id"], url="https://late.example/in", events=["star"],
                content_type="json",
            )
        )  # fmt: skip
        async with open_dashboard(world.store, world.seed.token) as browser:
            for query in ("event=star", "range=1h", f"url={made['id']}", "url=late.ex"):
                page = await browser.page(f"/ui/hooks?{query}")
                assert "late.example" in page, query
                assert page.count('<td class="url">') == 1, query
            assert "No matching hooks" in await browser.page("/ui/hooks?event=fork&url=late")

    async def test_disabled_hooks_by_event(self, world: World) -> None:
        everything = world.store.write_sync(hook, world.good["repo_id"], "all", events=["*"])
        for one in (world.failing, everything):
            world.store.write_sync(hooks.disable, one["id"], "it failed for 5 days")
        async with open_dashboard(world.store, world.seed.token) as browser:
            for event, expected in (
                ("push", ["/all", "/failing"]), ("issues", ["/all"]), ("issue_field", []),
                ("team", []), ("pus_", []), ("%", []),
            ):  # fmt: skip
                page = await browser.page(f"/ui/hooks?state=disabled&event={quote(event)}")
                assert re.findall(r"receiver\.example(/\w+)</a>", page) == expected, event
            page = text_of(await browser.page("/ui/catalogue/push"))
            assert "Subscribers 4 hooks" in page
            assert "/failing disabled octo/hello" in page
            assert "/good octo/hello" in page
            assert "4 hooks" in text_of(await browser.page("/ui/hooks?event=push"))

    async def test_topics_by_event_endpoint_and_period(
        self, world: World, clock: MovableClock
    ) -> None:
        world.send(world.hidden, "early", name="issues")
        clock.advance(seconds=2 * HOUR // SECOND)
        world.send(world.good, "late")
        repository = world.seed.hello["name"]
        async with open_dashboard(world.store, world.seed.token) as browser:
            for query in ("range=1h", "hook=example/g"):
                page = await browser.page(f"/ui/topics?{query}")
                assert f"octo/{repository}" in page, query
                assert "octo/vault" not in page, query
            assert "octo/vault" in await browser.page("/ui/topics?event=push")
            assert "No matching repository" in await browser.page("/ui/topics?event=star")
            page = await browser.page("/ui/topics?range=6h&sort=latest")
            assert page.index("octo/vault") < page.index(f">octo/{repository}<")


class TestViews:
    async def test_views_are_saved_and_removed(self, world: World) -> None:
        form = {"page": "/ui/deliveries", "query": "status=failure&event=push", "name": "Broken"}
        async with open_dashboard(world.store, world.seed.token) as browser:
            assert "Save this view" not in await browser.page("/ui/deliveries")
            page = await browser.page("/ui/deliveries?event=push&status=failure")
            assert 'name="query" value="event=push&amp;status=failure"' in page
            answer = await browser.post("/ui/views", form, on="/ui/deliveries")
            assert answer.headers["location"] == "/ui/deliveries?status=failure&event=push"
            assert (await browser.post("/ui/views", form, on="/ui/deliveries")).status_code == 303
            page = await browser.page("/ui/deliveries")
            (at,) = re.findall(r'class="view" href="([^"]+)"', page)
            assert 'aria-current="true">Broken' in await browser.page(at.replace("&amp;", "&"))
            assert "Broken" not in await browser.page("/ui/events")
            shared = {**form, "shared": "1"}
            assert (await browser.post("/ui/views", shared, on="/ui")).status_code == 403
            for wrong in ({**form, "name": " "}, {**form, "name": "x" * 61}):
                assert (await browser.post("/ui/views", wrong, on="/ui")).status_code == 422
            elsewhere = {**form, "page": "https://evil.example"}
            assert (await browser.post("/ui/views", elsewhere, on="/ui")).status_code == 404
            (remove,) = re.findall(r"/ui/views/\d+/remove", page)
            browser.client.cookies.clear()
            await browser.sign_in(world.seed.reader_token)
            assert "Broken" not in await browser.page("/ui/deliveries")
            assert (await browser.post(remove, on="/ui")).status_code == 404
            browser.client.cookies.clear()
            await browser.sign_in(world.seed.token)
            assert (await browser.post(remove, on="/ui/deliveries")).status_code == 303
            assert "has been removed" in await browser.page("/ui/deliveries")
            assert "Broken" not in await browser.page("/ui/deliveries")

    async def test_operators_share_views(self, world: World) -> None:
        form = {"page": "/ui/hooks", "query": "state=failing", "name": "Sick", "shared": "1"}
        async with open_dashboard(world.store, world.operator) as browser:
            assert (await browser.post("/ui/views", form, on="/ui")).status_code == 303
            browser.client.cookies.clear()
            await browser.sign_in(world.seed.token)
            page = await browser.page("/ui/hooks")
            assert "Sick" in page
            assert "Remove a view" not in page
