"""The dashboard's hooks: the rights to see them, their health, and the actions on a hook."""

import re
import threading
from typing import Any

import pytest
from certificates import Authority
from dashboard_client import Browser, next_page, open_dashboard, text_of
from markupsafe import escape
from required import required
from transactions import transaction
from ui_world import SECRET, World, hook

from hub.auth import rate_limits
from store import Connection
from store.accounts import tokens
from store.audit import audit_log
from store.audit.audit_log import Actor, AuditEntry
from store.clock import DAY, HOUR, SECOND, MovableClock
from store.delivery import events, filtering, hook_removal
from store.delivery.incoming import IncomingEvent
from store.hook_state import hook_pauses, hook_silences
from store.hooks import hook_links, hook_secrets, hooks


class TestWhoSeesWhich:
    async def test_users_see_the_hooks_of_their_repositories(self, world: World) -> None:
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = await browser.page("/ui/hooks")
            assert {"/good", "/failing", "/hidden"} == set(re.findall(r"example(/\w+)", page))
            for one in (world.good, world.hidden):
                await browser.page(f"/ui/hooks/{one['id']}")
            assert (await browser.get(f"/ui/hooks/{world.other['id']}")).status_code == 403
            for number in ("9999", "0", "x", "-1", "1" * 40):
                assert (await browser.get(f"/ui/hooks/{number}")).status_code == 404

    async def test_an_operator_sees_all(self, world: World) -> None:
        async with open_dashboard(world.store, world.operator) as browser:
            page = await browser.page("/ui/hooks")
            assert len(set(re.findall(r"example(/\w+)", page))) == 4
            await browser.page(f"/ui/hooks/{world.other['id']}")

    async def test_a_collaborator_has_to_administer(self, world: World) -> None:
        async with open_dashboard(world.store, world.seed.reader_token) as browser:
            page = text_of(await browser.page("/ui/hooks"))
            assert "Nothing that you may see" in page
            assert (await browser.get(f"/ui/hooks/{world.good['id']}")).status_code == 403
            assert (await browser.get(f"/ui/hooks/{world.hidden['id']}")).status_code == 404

    async def test_a_token_without_the_scope_sees_none(self, world: World) -> None:
        bare = world.store.write_sync(lambda db: tokens.create(db, world.seed.octo["id"])[0])
        async with open_dashboard(world.store, bare) as browser:
            assert "Nothing that you may see" in text_of(await browser.page("/ui/hooks"))
            answer = await browser.get(f"/ui/hooks/{world.good['id']}")
            assert answer.status_code == 403
            assert "read:repo_hook" in text_of(answer.text)


class TestList:
    async def test_the_list_shows_the_health_of_each_hook(
        self, world: World, clock: MovableClock
    ) -> None:
        world.send(world.good, "a", "b")
        world.send(world.failing, "c", status_code=500, cooldown_until=clock.now() + HOUR)
        world.store.write_sync(hooks.disable, world.hidden["id"], "it answered 410 <Gone>")
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = text_of(await browser.page("/ui/hooks"))
            for said in ("Healthy", "Circuit open", "Disabled", "it answered 410 <Gone>"):
                assert said in page
            clock.advance(seconds=3601)
            assert "Failing status 500 since 1 h ago" in text_of(await browser.page("/ui/hooks"))

    async def test_each_health_has_one_word_and_one_color(
        self, world: World, clock: MovableClock
    ) -> None:
        for one in (world.failing, world.hidden):
            world.store.write_sync(hooks.update, one, secret=SECRET)
        world.send(world.good, *(f"fine-{number}" for number in range(8)))
        world.send(world.good, "bad", status_code=500)
        world.send(world.good, "again")
        world.send(world.failing, "c", status_code=500, cooldown_until=clock.now() + HOUR)
        world.store.write_sync(hooks.disable, world.hidden["id"], "it answered 410")
        expected = {"warn": "Degraded", "open": "Circuit open", "disabled": "Disabled"}
        async with open_dashboard(world.store, world.seed.token) as browser:
            for place in ("/ui/hooks", "/ui", *(f"/ui/hooks/{one['id']}" for one in (
                world.good, world.failing, world.hidden
            ))):  # fmt: skip
                page = await browser.page(place)
                said = re.findall(r'"status (warn|open|disabled)"><svg.*?</svg>([^<]+)', page)
                assert said, place
                assert all(expected[kind] == word for kind, word in said), (place, said)
            for state, name in (("circuit open", "/failing"), ("failing", "")):
                page = await browser.page(f"/ui/hooks?state={state}")
                assert "".join(re.findall(r"example(/\w+)", page)) == name

    async def test_a_circuit_that_is_open_has_one_time(
        self, world: World, clock: MovableClock
    ) -> None:
        until = clock.now() + 56 * SECOND
        # The delivery itself is due before the circuit closes.
        (attempt,) = world.send(
            world.failing, "c", status_code=500, cooldown_until=until, due_at=clock.now() - HOUR
        )
        (event,) = world.store.read_sync(lambda db: db.tuples("SELECT max(id) FROM event"))[0]
        async with open_dashboard(world.store, world.seed.token) as browser:
            for place in (f"hooks/{world.failing['id']}", f"deliveries/{attempt}", "deliveries",
                          f"events/{event}"):  # fmt: skip
                text = text_of(await browser.page(f"/ui/{place}"))
                assert "in 56 s" in text, place
                assert not re.search("due since|retry due|1 h ago", text), place
            clock.advance(seconds=57)
            text = text_of(await browser.page(f"/ui/hooks/{world.failing['id']}"))
            assert "Next attempt now" in text
            assert "Circuit breaker closed" in text

    async def test_filters_of_hooks(self, world: World) -> None:
        world.send(world.failing, "c", status_code=500)
        async with open_dashboard(world.store, world.seed.token) as browser:
            for query, expected in (
                ("state=failing", {"/failing"}),
                ("state=disabled", set()),
                ("state=%27", {"/good", "/failing", "/hidden"}),
                ("repository=octo/vault", {"/hidden"}),
                ("repository=VAU", {"/hidden"}),
                ("repository=octo/", {"/good", "/failing", "/hidden"}),
                ("repository=thin", set()),
                ("repository=%25", set()),
                ("url=/HID", {"/hidden"}),
                ("url=/good&state=off", set()),
                ("url=/f&state=unhealthy", {"/failing"}),
                ("url=/g&state=unhealthy", set()),
                ("url=other", set()),
                ("repository=theirs/thing", set()),
                ("repository=x", set()),
                ("repository=%00&state=off", set()),
            ):
                page = await browser.page(f"/ui/hooks?{query}")
                assert set(re.findall(r"example(/\w+)", page)) == expected, query

    async def test_a_number_is_the_id_of_a_hook_or_a_text(self, world: World) -> None:
        with transaction(world.store) as db:
            url = "http://127.0.0.1:18799/port"
            made = hooks.create(db, world.seed.hello["id"], url=url, events=["push"])
            gone = hook(db, world.seed.hello["id"], "gone")
            hook_removal.delete(db, gone)
            made, gone = made["id"], gone["id"]
        for token in (world.seed.token, world.operator):
            async with open_dashboard(world.store, token, last=token == world.operator) as browser:
                for text in ("18799", str(made)):
                    page = text_of(await browser.page(f"/ui/hooks?url={text}"))
                    assert "18799/port" in page, text
                    assert "1 hook" in page, text
                for text in ("9999", str(gone), "1" * 40):
                    page = text_of(await browser.page(f"/ui/hooks?url={text}"))
                    assert "No matching hooks" in page, text

    async def test_the_list_of_hooks_in_pages(self, world: World) -> None:
        with transaction(world.store) as db:
            for number in range(60):
                hook(db, world.seed.hello["id"], f"n{number}")
        async with open_dashboard(world.store, world.seed.token) as browser:
            first = await browser.page("/ui/hooks")
            second = await browser.page(next_page(first))
            seen = [re.findall(r"example(/\w+)", page) for page in (first, second)]
            assert [len(one) for one in seen] == [50, 13]
            assert not set(seen[0]) & set(seen[1])
            assert 'rel="next"' not in second


class TestSecretsInUrls:
    """Only users who may change a hook see a token in the query of its URL."""

    @pytest.fixture
    def secretive(self, world: World) -> Any:
        url = "https://user:pass-word@receiver.example/in?token=s3cr3t&kind=a"
        made = world.store.write_sync(
            hooks.create,
            world.seed.hello["id"],
            url=url,
            events=["push"],
            content_type="json",
            secret=SECRET,
        )
        world.send(made, "a", status_code=500)
        return made

    async def seen(self, browser: Browser, world: World, secretive: Any) -> dict[str, str]:
        (attempt,) = world.store.read_sync(lambda db: db.tuples("SELECT max(id) FROM attempt"))[0]
        (event,) = world.store.read_sync(lambda db: db.tuples("SELECT max(id) FROM event"))[0]
        paths = ("/ui", "/ui/hooks", f"/ui/hooks/{secretive['id']}", "/ui/deliveries",
                 f"/ui/deliveries/{attempt}", f"/ui/events/{event}",
                 f"/ui/topics/{secretive['repo_id']}?event=push")  # fmt: skip
        answers = {path: await browser.get(path) for path in paths}
        return {path: one.text for path, one in answers.items() if one.status_code == 200}

    async def test_secrets_in_urls_are_hidden_without_write_access(
        self, world: World, secretive: Any
    ) -> None:
        async with open_dashboard(world.store, world.look_only) as browser:
            pages = await self.seen(browser, world, secretive)
            assert len(pages) == 7
            for path, page in pages.items():
                assert "receiver.example/in?token=•••" in text_of(page), path
                assert "s3cr3t" not in page, path
                assert "pass-word" not in page, path

    async def test_secrets_in_urls_are_hidden_from_a_guest(
        self, world: World, secretive: Any
    ) -> None:
        links = TestLinks()
        async with open_dashboard(world.store, world.seed.token) as browser:
            at = f"/ui/hooks/{secretive['id']}"
            answer = await browser.post(f"{at}/links", {"days": "1"}, on=at)
            place = re.findall(r'data-copy="http://127.0.0.1:8765([^"]+)"', answer.text)[0]
            browser.client.cookies.clear()
            assert "s3cr3t" not in await browser.page(place)
            await links.follow(browser, place)
            pages = await self.seen(browser, world, secretive)
            assert len(pages) == 2
            assert not [path for path, page in pages.items() if "s3cr3t" in page]

    async def test_secrets_in_urls_are_shown_on_request_with_write_access(
        self, world: World, secretive: Any
    ) -> None:
        async with open_dashboard(world.store, world.seed.token) as browser:
            pages = await self.seen(browser, world, secretive)
            shown = [path for path, page in pages.items() if "s3cr3t" in page]
            # The hook's page shows the URL on request, and a delivery's page in the curl command.
            assert [path.rpartition("/")[0] for path in shown] == ["/ui/hooks", "/ui/deliveries"]
            assert "Show the whole URL" in text_of(pages[shown[0]])

    async def test_filters_do_not_find_hidden_parts(self, world: World, secretive: Any) -> None:
        async with open_dashboard(world.store, world.look_only) as browser:
            for path in ("/ui/hooks?url=", "/ui/deliveries?hook="):
                assert "receiver.example/in" in await browser.page(f"{path}example/in")
                for part in ("s3cr", "token", "pass", "user"):
                    assert "receiver.example/in" not in await browser.page(f"{path}{part}")


class TestOne:
    async def test_a_hook_s_page_shows_its_state_and_no_secret(self, world: World) -> None:
        world.send(world.good, "guid-a")
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = await browser.page(f"/ui/hooks/{world.good['id']}")
            text = text_of(page)
            for said in (
                "guid-a",
                "Deliveries are signed",
                "Circuit breaker closed",
                "1 of 1",
                "40 ms",
            ):
                assert said in text
            assert SECRET not in page

    async def test_a_disabled_hook_shows_the_reason_and_can_be_enabled(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        world.store.write_sync(hooks.disable, world.good["id"], "it answered 410")
        async with open_dashboard(world.store, world.seed.token) as browser:
            assert "Disabled: it answered 410" in text_of(await browser.page(at))
            assert (await browser.post(f"{at}/ping", on=at)).status_code == 409
            answer = await browser.post(f"{at}/on", on=at)
            assert (answer.status_code, answer.headers["location"]) == (303, at)
            text = text_of(await browser.page(at))
            assert "The hook is on." in text
            assert "Disabled" not in text
            assert "The hook is on." not in text_of(await browser.page(at))
            assert (await browser.post(f"{at}/off", on=at)).status_code == 303
            assert "Off" in text_of(await browser.page(at))

    async def test_a_hook_that_is_off_names_the_person_to_its_administrators(
        self, world: World
    ) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        async with open_dashboard(world.store, world.seed.token) as browser:
            await browser.post(f"{at}/off", on=at)
            assert "Off since" in (text := text_of(await browser.page(at)))
            assert "switched off by octo" in text
            browser.client.cookies.clear()
            await browser.sign_in(world.look_only)
            assert "Off since" in (text := text_of(await browser.page(at)))
            assert "switched off by" not in text

    async def test_only_operators_see_the_person_behind_a_command(self, world: World) -> None:
        def switch_off(db: Connection) -> None:
            hooks.update(db, world.good, active=False)
            ada = Actor("ada@db-1.example", "command")
            audit_log.add(db, AuditEntry(ada, "tocsin hook disable", str(world.good["id"]), "done"))

        world.store.write_sync(switch_off)
        for token, name in (
            (world.seed.token, "a command on the server"),
            (world.operator, "ada@db-1.example"),
        ):
            async with open_dashboard(world.store, token, last=False) as browser:
                text = text_of(await browser.page(f"/ui/hooks/{world.good['id']}"))
                assert re.findall(r"switched off by (.*?)\.(?: |$)", text) == [name]

    async def test_a_paused_hook_is_shown_as_paused(self, world: World) -> None:
        world.store.write_sync(hook_pauses.pause, world.good)
        async with open_dashboard(world.store, world.seed.token) as browser:
            text = text_of(await browser.page(f"/ui/hooks/{world.good['id']}"))
            assert "Paused since" in text
            assert f"tocsin hook resume {world.good['id']}" in text
            listed = await browser.page("/ui/hooks?state=paused")
            assert re.findall(r"example(/\w+)", listed) == ["/good"]
            assert "Paused" in text_of(listed)

    async def test_a_paused_hook_is_neither_unhealthy_nor_tried(
        self, world: World, clock: MovableClock
    ) -> None:
        (attempt,) = world.send(world.failing, "a", status_code=500)
        world.store.write_sync(hook_pauses.pause, world.failing)
        clock.advance(seconds=3600)
        (event,) = world.store.read_sync(lambda db: db.tuples("SELECT max(id) FROM event"))[0]
        async with open_dashboard(world.store, world.seed.token) as browser:
            said = text_of(await browser.page("/ui"))
            assert "for too long" not in said
            assert "Unhealthy endpoints None" in said
            assert "Next attempt –" in text_of(
                await browser.page(f"/ui/hooks/{world.failing['id']}")
            )
            for path in ("/ui/deliveries", f"/ui/deliveries/{attempt}", f"/ui/events/{event}"):
                assert "the hook is paused" in text_of(await browser.page(path)), path
            listed = await browser.page("/ui/hooks?state=paused")
            assert "Paused" in text_of(listed)

    async def test_a_hook_is_pinged(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        async with open_dashboard(world.store, world.seed.token) as browser:
            assert (await browser.post(f"{at}/ping", on=at)).status_code == 303
            sql = "SELECT e.name, d.hook_id FROM delivery d JOIN event e ON e.id = d.event_id"
            assert world.store.read_sync(lambda db: db.tuples(sql)) == [("ping", world.good["id"])]

    async def test_the_latest_push_can_be_sent_again(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        async with open_dashboard(world.store, world.seed.token) as browser:
            assert (await browser.post(f"{at}/test", on=at)).status_code == 409
            world.send(world.failing, "a")
            assert (await browser.post(f"{at}/test", on=at)).status_code == 303

    async def test_the_secret_can_be_rotated(self, world: World, clock: MovableClock) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        async with open_dashboard(world.store, world.seed.token) as browser:
            answer = await browser.post(f"{at}/secret", on=at)
            assert answer.status_code == 200
            (value,) = set(re.findall(r'data-copy="([0-9a-f]{64})"', answer.text))
            row = required(world.store.read_sync(hooks.by_id, world.good["id"]))
            assert world.store.read_sync(hooks.secret_of, row) == value
            former = world.store.read_sync(hook_secrets.previous_secret, row)
            assert former == (SECRET, clock.now() + DAY)
            page = await browser.page(at)
            assert value not in page
            assert "The old secret also signs" in text_of(page)
            assert (await browser.post(f"{at}/secret/end", on=at)).status_code == 303
            row = required(world.store.read_sync(hooks.by_id, world.good["id"]))
            assert row["previous_secret"] is None
            entries = world.store.read_sync(
                lambda db: db.all(f"SELECT {audit_log.CONTENT} FROM audit")
            )
            assert value not in str(entries)
            assert SECRET not in str(entries)

    async def test_a_second_rotation_leaves_the_former_secret(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        async with open_dashboard(world.store, world.seed.token) as browser:
            await browser.post(f"{at}/secret", on=at)
            answer = await browser.post(f"{at}/secret", on=at)
            assert answer.status_code == 409
            assert "The former secret still signs until 20" in (text := text_of(answer.text))
            assert "End the overlap first, then create a new secret." in text
            row = world.store.read_sync(hooks.by_id, world.good["id"])
            former = required(world.store.read_sync(hook_secrets.previous_secret, row))
            assert former[0] == SECRET
            await browser.post(f"{at}/secret/end", on=at)
            assert (await browser.post(f"{at}/secret", on=at)).status_code == 200

    async def test_each_change_is_in_the_audit_log(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        async with open_dashboard(world.store, world.seed.token) as browser:
            for act in ("ping", "off", "on", "secret", "secret/end"):
                await browser.post(f"{at}/{act}", on=at)
            rows = world.store.read_sync(
                lambda db: db.tuples("SELECT action, actor, target FROM audit ORDER BY id")
            )
            assert rows[1:] == [
                ("ui/ping-hook", "octo", f"{at}/ping"),
                ("ui/disable-hook", "octo", f"{at}/off"),
                ("ui/enable-hook", "octo", f"{at}/on"),
                ("ui/rotate-secret", "octo", f"{at}/secret"),
                ("ui/end-overlap", "octo", f"{at}/secret/end"),
            ]

    async def test_every_action_needs_write_access(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        async with open_dashboard(world.store, world.look_only) as browser:
            page = await browser.page(at)
            assert "/secret" not in page
            assert "Switch off" not in text_of(page)
            for act in ("ping", "off", "on", "secret", "secret/end", "test", "links"):
                assert (await browser.post(f"{at}/{act}", on=at)).status_code == 403, act
            row = required(world.store.read_sync(hooks.by_id, world.good["id"]))
            assert row["version"] == world.good["version"]

    async def test_hooks_of_others_cannot_be_changed(self, world: World) -> None:
        at = f"/ui/hooks/{world.other['id']}"
        async with open_dashboard(world.store, world.seed.token) as browser:
            for act in ("ping", "off", "secret", "links"):
                assert (await browser.post(f"{at}/{act}")).status_code == 403, act


class TestLinks:
    """With a link, a developer of the receiver can view one hook for a while."""

    async def link(self, browser: Browser, world: World, days: str = "7") -> str:
        at = f"/ui/hooks/{world.good['id']}"
        answer = await browser.post(f"{at}/links", {"days": days, "note": "<them>"}, on=at)
        assert answer.status_code == 200
        (place,) = set(
            re.findall(r'data-copy="http://127.0.0.1:8765(/ui/shared[^"]+)"', answer.text)
        )
        return str(place)

    async def follow(self, browser: Browser, place: str) -> None:
        browser.client.cookies.clear()
        value = place.partition("link=")[2]
        answer = await browser.post("/ui/shared", {"link": value}, on=place)
        assert answer.status_code == 303

    async def test_a_link_is_followed_so_many_times_in_a_minute(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rate_limits, "ACTIONS_PER_MINUTE", 2)
        async with open_dashboard(world.store) as browser:
            await browser.enter(world.seed.token)
            place = await self.link(browser, world)
            await self.follow(browser, place)
            await self.follow(browser, place)
            browser.client.cookies.clear()
            value = place.partition("link=")[2]
            again = await browser.post("/ui/shared", {"link": value}, on=place)
            assert again.status_code == 403
            assert "exceeded a secondary rate limit" in again.text

    async def test_a_link_lasts_no_other_time(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        async with open_dashboard(world.store, world.seed.token) as browser:
            for days in ("99", "", "0", "seven"):
                answer = await browser.post(f"{at}/links", {"days": days}, on=at)
                assert answer.status_code == 422
                assert "A link lasts 1, 7 or 30 days." in text_of(answer.text)

    async def test_a_link_shows_one_hook_and_nothing_else(self, world: World) -> None:
        (mine,) = world.send(world.good, "a")
        (theirs,) = world.send(world.failing, "b")
        async with open_dashboard(world.store, world.seed.token) as browser:
            place = await self.link(browser, world)
            await self.follow(browser, place)
            at = f"/ui/hooks/{world.good['id']}"
            page = await browser.page(at)
            assert "Send a ping" not in text_of(page)
            assert "/links" not in page
            await browser.page(f"/ui/deliveries/{mine}")
            statuses = {
                path: (await browser.get(path)).status_code
                for path in (
                    "/ui", "/ui/hooks", "/ui/deliveries", f"/ui/hooks/{world.failing['id']}",
                    f"/ui/deliveries/{theirs}",
                )
            }  # fmt: skip
            assert set(statuses.values()) == {403, 404}, statuses
            views = f"/ui/live /ui/deliveries/live /ui/hooks/{world.failing['id']}/live {at}/live"
            async with browser.listening(views) as heard:
                await heard.until("begin")
                world.send(world.failing, "not-for-guests")
                world.send(world.good, "for-guests")
                text = await heard.until("for-guests")
            assert text.count('"event":"ended"') == 3
            assert "not-for-guests" not in text
            for act in (f"{at}/ping", f"{at}/links", f"/ui/deliveries/{mine}/again"):
                assert (await browser.post(act, on=at)).status_code == 403

    async def test_a_link_of_your_own_does_not_sign_you_out(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        for token in (world.seed.token, world.operator):
            async with open_dashboard(world.store, token, last=False) as browser:
                before = dict(browser.client.cookies)
                place = await self.link(browser, world)
                assert "You stay signed in" in text_of(await browser.page(place))
                value = place.partition("link=")[2]
                answer = await browser.post("/ui/shared", {"link": value}, on=place)
                assert (answer.status_code, answer.headers["location"]) == (303, at)
                assert browser.client.cookies["tocsin_ui"] == before["tocsin_ui"]
                assert "Send a ping" in text_of(await browser.page(at))
        async with open_dashboard(world.store, world.seed.reader_token) as browser:
            before = dict(browser.client.cookies)
            assert "signs you out" in text_of(await browser.page(place))
            await browser.post("/ui/shared", {"link": value}, on=place)
            assert "guest" in text_of(await browser.page(at))
            assert (await browser.get("/ui/hooks")).status_code == 403
            browser.client.cookies.clear()
            browser.client.cookies.update(before)
            assert (await browser.get("/ui/hooks")).status_code == 303

    async def test_a_link_on_another_site_finds_the_session(self, world: World) -> None:
        async with open_dashboard(world.store, world.seed.token) as browser:
            place = await self.link(browser, world)
            mine = dict(browser.client.cookies)
            # The browser sends no strict cookie with the first request.
            browser.client.cookies.clear()
            page = await browser.get(place, headers={"Sec-Fetch-Site": "cross-site"})
            assert 'http-equiv="refresh" content="0"' in page.text
            assert not browser.client.cookies
            browser.client.cookies.update(mine)
            page = await browser.get(place, headers={"Sec-Fetch-Site": "same-origin"})
            assert "You stay signed in" in text_of(page.text)

    async def test_the_value_of_a_link_is_not_stored(self, world: World) -> None:
        async with open_dashboard(world.store, world.seed.token) as browser:
            value = (await self.link(browser, world)).partition("link=")[2]
            rows = world.store.read_sync(lambda db: db.all("SELECT * FROM hook_link"))
            entries = world.store.read_sync(
                lambda db: db.all(f"SELECT {audit_log.CONTENT} FROM audit")
            )
            assert len(value) == 43
            assert value not in str(rows) + str(entries)

    async def test_the_link_of_a_hook_expires(self, world: World, clock: MovableClock) -> None:
        async with open_dashboard(world.store, world.seed.token, ui_idle=10**6) as browser:
            place = await self.link(browser, world, "1")
            await self.follow(browser, place)
            at = f"/ui/hooks/{world.good['id']}"
            clock.advance(seconds=DAY // SECOND - 1)
            await browser.page(at)
            clock.advance(seconds=2)
            assert (await browser.get(at)).status_code == 303
            assert (await browser.get(place)).status_code == 404

    async def test_a_link_can_be_ended(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        async with open_dashboard(world.store, world.seed.token) as browser:
            ours = dict(browser.client.cookies)
            place = await self.link(browser, world)
            page = await browser.page(at)
            assert "<them>" in text_of(page)
            assert "<them>" not in page
            (end,) = re.findall(rf'action="({at}/links/\d+/end)"', page)
            await self.follow(browser, place)
            guest = dict(browser.client.cookies)
            browser.client.cookies.clear()
            browser.client.cookies.update(ours)
            assert (await browser.post(end, on=at)).status_code == 303
            assert (await browser.post(end, on=at)).status_code == 404
            browser.client.cookies.clear()
            browser.client.cookies.update(guest)
            assert (await browser.get(at)).status_code == 303
            assert (await browser.get(place)).status_code == 404

    async def test_an_unknown_link_is_not_found(self, world: World) -> None:
        async with open_dashboard(world.store, world.seed.token) as browser:
            for value in ("", "x", "a" * 43, "%00"):
                assert (await browser.get(f"/ui/shared?link={value}")).status_code == 404
                answer = await browser.post("/ui/shared", {"link": value})
                assert answer.status_code == 404


class TestAccess:
    async def test_headers_and_certificates_are_shown_without_secrets(self, world: World) -> None:
        certificate, key = (authority := Authority()).issue()
        tls = {"client_cert": certificate, "client_key": key, "ca": authority.pem}
        options = {"headers": {"X-Api-Key": "hunter2", "X-Env": "live"}, "tls": tls}
        hook = world.store.write_sync(hooks.update, world.good, options=options)
        reason = "a certificate has expired"
        world.store.write_sync(hook_pauses.pause_unusable, hook["id"], hook["version"], reason)
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = await browser.page(f"/ui/hooks/{hook['id']}")
        text = text_of(page)
        assert "X-Api-Key: ********" in text
        assert "X-Env: live" in text
        assert "Client certificate its own" in text
        assert "Certificates end 20" in text
        assert "The reason: a certificate has expired." in text
        assert "hunter2" not in page
        assert "PRIVATE" not in page


class TestFilter:
    async def test_a_filter_is_shown_and_tested(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        filter_ = {"payload": {"ref": {"$startsWith": "refs/tags/"}}}
        async with open_dashboard(world.store, world.seed.token) as browser:
            assert "Test the filter" not in await browser.page(at)
            world.store.write_sync(hooks.update, world.good, options={"filter": filter_})
            text = text_of(await browser.page(at))
            assert '"$startsWith": "refs/tags/"' in text
            answer = await browser.post(f"{at}/filter", {"payload": '{"ref": "x"}'}, on=at)
            said = text_of(answer.text)
            assert "The event is filtered" in said
            assert 'payload.ref $startsWith "refs/tags/" "x"' in said
            answer = await browser.post(f"{at}/filter", on=at)
            assert answer.status_code == 409, "there is no push yet"
            body = b'{"ref": "refs/tags/v1"}'
            repo_id = world.good["repo_id"]
            arrival = IncomingEvent(repo_id, "g-1", repo_id, "push", body)
            (receipt,) = world.store.write_sync(events.accept_all, [arrival])
            for form in ({}, {"event": str(receipt.event_id)}):
                answer = await browser.post(f"{at}/filter", form, on=at)
                assert "The event is delivered" in text_of(answer.text)
            # The id of a delivery must not test another event.
            answer = await browser.post(f"{at}/filter", {"event": "g-1"}, on=at)
            assert answer.status_code == 422
            assert "'g-1' is not the id of an event" in text_of(answer.text)
            answer = await browser.post(f"{at}/filter", {"payload": "[]"}, on=at)
            assert answer.status_code == 422
            assert "cannot be read" in text_of(answer.text)

    async def test_the_page_of_a_filter_test_keeps_the_form(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        world.store.write_sync(hooks.update, world.good, options={"filter": {"event": "push"}})
        async with open_dashboard(world.store, world.seed.token) as browser:
            for payload, status in (('\n{"title": "<b>"', 422), ('{"title": "<b>"}', 200)):
                answer = await browser.post(f"{at}/filter", {"payload": payload}, on=at)
                assert answer.status_code == status
                assert f">\n{escape(payload)}</textarea>" in answer.text
                assert ('aria-invalid="true"' in answer.text) == (status == 422)
            answer = await browser.post(f"{at}/filter", {"event": "g-<"}, on=at)
            assert 'value="g-&lt;"' in answer.text

    async def test_no_write_waits_for_the_test_of_a_filter(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        judged, judge = [], filtering.test

        def slow(*given: Any) -> Any:
            # The writer is one thread, and the event loop another.
            judged.append(threading.current_thread().name)
            return judge(*given)

        monkeypatch.setattr(filtering, "test", slow)
        at = f"/ui/hooks/{world.good['id']}"
        world.store.write_sync(hooks.update, world.good, options={"filter": {"event": "push"}})
        async with open_dashboard(world.store, world.seed.token) as browser:
            answer = await browser.post(f"{at}/filter", {"payload": "{}"}, on=at)
        assert "The event is delivered" in text_of(answer.text)
        assert [name.startswith("tocsin-reader") for name in judged] == [True]

    async def test_a_filter_in_cel_can_be_tested(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        world.store.write_sync(
            hooks.update, world.good, options={"filter": {"cel": "payload.size > 1"}}
        )
        async with open_dashboard(world.store, world.seed.token) as browser:
            for payload, expected in (
                ('{"size": 2}', 'holds event cel "payload.size > 1" true'),
                ('{"size": 1}', 'fails event cel "payload.size > 1" false'),
                ("{}", 'fails event cel "payload.size > 1" Key not found in map: "size"'),
            ):
                answer = await browser.post(f"{at}/filter", {"payload": payload}, on=at)
                assert expected in text_of(answer.text)

    async def test_filtered_deliveries_are_shown_with_the_reason(self, world: World) -> None:
        world.store.write_sync(hooks.update, world.good, options={"filter": {"event": "star"}})
        repo_id = world.good["repo_id"]
        arrival = IncomingEvent(repo_id, "g-1", repo_id, "push", b"{}")
        (receipt,) = world.store.write_sync(events.accept_all, [arrival])
        async with open_dashboard(world.store, world.seed.token) as browser:
            text = text_of(await browser.page(f"/ui/events/{receipt.event_id}"))
            assert "filtered" in text
            assert 'event does not satisfy $eq "star"' in text
            text = text_of(await browser.page(f"/ui/hooks/{world.good['id']}"))
            assert "On record, 1 did not." in text


class TestSigningKey:
    async def test_a_signing_key_is_shown_and_rotated(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        async with open_dashboard(world.store, world.seed.token) as browser:
            assert "Signing key" not in await browser.page(at)
            world.store.write_sync(hooks.update, world.good, options={"signatures": ["v1a"]})
            (first,) = set(re.findall(r"whpk_[\w+/=]+", await browser.page(at)))
            assert (await browser.post(f"{at}/key", on=at)).status_code == 303
            page = await browser.page(at)
            assert len(set(re.findall(r"whpk_[\w+/=]+", page))) == 2
            assert "Former key" in page
            answer = await browser.post(f"{at}/key", on=at)
            assert answer.status_code == 409
            assert "The former key still signs until" in text_of(answer.text)
            assert first in await browser.page(at)
            assert "/.well-known/webhook-keys/" in page
            assert (await browser.post(f"{at}/key/end", on=at)).status_code == 303
            page = await browser.page(at)
            assert first not in page
            assert "whsk_" not in page


class TestState:
    """The health, the figures and the actions of a hook's page follow the hook."""

    async def view(self, browser: Browser, hook_id: int) -> str:
        page = await browser.page(f"/ui/hooks/{hook_id}")
        (found,) = re.findall(r'data-stream="([^"]*/state[^"]*)"', page)
        return str(found)

    async def test_a_change_is_shown(self, world: World, clock: MovableClock) -> None:
        good = world.good["id"]
        async with open_dashboard(world.store, world.seed.token) as browser:
            view = await self.view(browser, good)
            paused = world.store.write_sync(hook_pauses.pause, world.good)
            async with browser.listening(view) as heard:
                text = await heard.until('"event":"figures"')
                assert text.index('"event":"actions"') < text.index("/resume")
                assert "Paused</strong> since" in text
                world.send(world.good, "a", status_code=500)
                clock.advance(seconds=3)
                text = await heard.until("0 of 1")
                assert text.count('"event":"actions"') == 1, "the actions are the same"
                world.store.write_sync(hook_pauses.resume, paused)
                clock.advance(seconds=3)
                await heard.until("Pause the hook")

    async def test_an_open_page_that_is_up_to_date_stays(self, world: World) -> None:
        world.send(world.good, "a")
        good = world.good["id"]
        async with open_dashboard(world.store, world.seed.token) as browser:
            view = await self.view(browser, good)
            # The other view's news come later in the same round.
            async with browser.listening(f"{view} /ui/hooks/{good}/live?after=0") as heard:
                assert '"event":"figures"' not in await heard.until('"event":"attempts"')
            async with browser.listening(f"{view}&resumed=1") as heard:
                await heard.until('"event":"figures"')

    async def test_a_guest_gets_no_actions(self, world: World) -> None:
        made, _ = world.store.write_sync(hook_links.create, world.good["id"], "", "octo", DAY)
        silence = [world.good["id"]], world.store.clock.now() + HOUR, "octo"
        async with open_dashboard(world.store) as browser:
            await browser.post("/ui/shared", {"link": made}, on=f"/ui/shared?link={made}")
            view = await self.view(browser, world.good["id"])
            world.store.write_sync(hook_silences.silence, *silence)
            async with browser.listening(view) as heard:
                text = await heard.until('"event":"figures"')
        assert "Silenced" in text
        assert "octo" not in text
        assert "<form" not in text
        assert "/silence" not in text
