"""The dashboard's forms create, change, try, pause and delete hooks as the API does."""

import asyncio
import json
import re
from html import unescape
from typing import Any

import pytest
from dashboard_client import Browser, open_dashboard, text_of
from racing import waits
from required import required
from transactions import transaction
from ui_trials import Trials
from ui_world import SECRET, World
from waiting import until

from store import Row
from store.audit import audit_log
from store.clock import MovableClock
from store.hook_state import hook_pauses
from store.hooks import hook_queries, hooks

URL = "https://receiver.example/new"
NEW = {
    "repository": "octo/hello",
    "url": URL,
    "content_type": "json",
    "verify": "1",
    "active": "1",
    "which": "some",
    "events": "issues",
    "secret": "none",
}


def of_url(world: World, url: str) -> Row:
    return required(world.store.write_sync(hooks.by_url, world.seed.hello["id"], url))


def changed(world: World, hook: Row) -> Row:
    return required(world.store.read_sync(hooks.by_id, hook["id"]))


async def posted(browser: Browser, path: str, *on: str, **form: Any) -> tuple[int, str]:
    answer = await browser.post(path, form, on=on[0] if on else "/ui/hooks/new")
    return answer.status_code, answer.text


class TestNewHook:
    async def test_a_hook_is_made_and_pinged(self, world: World) -> None:
        options = {"retries": "0, 60,600", "timeout": "5", "rate": "2.5", "concurrency": "3"}
        async with open_dashboard(world.store, world.seed.token) as browser:
            form = {**NEW, "events": ["issues", "push", "interaction_limit"], **options}
            status, _ = await posted(browser, "/ui/hooks/new", **form)
            assert status == 303
            made = of_url(world, URL)
            assert made["events"] == ["interaction_limit", "issues", "push"]
            assert made["options"] == {
                "retries": [0, 60, 600], "timeout": 5, "rate": 2.5, "concurrency": 3,
            }  # fmt: skip
            assert (made["secret"], made["insecure_ssl"], made["active"]) == (None, 0, 1)
            sql = "SELECT e.name, d.hook_id FROM delivery d JOIN event e ON e.id = d.event_id"
            assert world.store.read_sync(lambda db: db.tuples(sql)) == [("ping", made["id"])]

    async def test_a_generated_secret_is_shown_once(self, world: World) -> None:
        async with open_dashboard(world.store, world.seed.token) as browser:
            status, page = await posted(browser, "/ui/hooks/new", **NEW | {"secret": "new"})
            assert status == 200
            (value,) = set(re.findall(r'data-copy="([0-9a-f]{64})"', page))
            assert "The hook has been created" in text_of(page)
            made = of_url(world, URL)
            assert world.store.read_sync(hooks.secret_of, made) == value
            assert value not in await browser.page(f"/ui/hooks/{made['id']}")
            assert value not in await browser.page(f"/ui/hooks/{made['id']}/edit")
            entries = world.store.read_sync(
                lambda db: db.all(f"SELECT {audit_log.CONTENT} FROM audit")
            )
            assert value not in str(entries)
            (entry,) = [one for one in entries if one["action"] == "ui/create-hook"]
            assert f'"id":{made["id"]}' in entry["details"].replace(" ", "")

    async def test_a_secret_of_your_own_is_never_shown(self, world: World) -> None:
        own = {"secret": "own", "own_secret": SECRET}
        async with open_dashboard(world.store, world.seed.token) as browser:
            status, page = await posted(browser, "/ui/hooks/new", **NEW | own | {"url": ""})
            assert status == 422
            assert SECRET not in page
            status, page = await posted(browser, "/ui/hooks/new", **NEW | own)
            assert (status, SECRET in page) == (303, False)
            assert world.store.read_sync(hooks.secret_of, of_url(world, URL)) == SECRET

    async def test_all_events_include_the_hub_s_only_by_name(self, world: World) -> None:
        chosen = {"which": "every", "events": ["push", "interaction_limit"]}
        async with open_dashboard(world.store, world.seed.token) as browser:
            assert (await posted(browser, "/ui/hooks/new", **NEW | chosen))[0] == 303
            made = of_url(world, URL)
            assert made["events"] == ["*", "interaction_limit"]
            page = await browser.page(f"/ui/hooks/{made['id']}/edit")
            assert re.search(r'value="every" checked', page)

    @pytest.mark.parametrize(
        ("wrong", "name", "said"),
        [
            ({"url": ""}, "url", "Enter the URL"),
            ({"url": "ftp://x"}, "url", "refused"),
            ({"url": "https://receiver.example/" + "x" * 2048}, "url", "at most 2048"),
            ({"events": "nothing"}, "events", "Invalid event"),
            ({"events": []}, "events", "at least one event"),
            ({"content_type": "xml"}, "content_type", "json"),
            ({"retries": "5, 6"}, "retries", "the first delay is 0"),
            ({"retries": "0, soon"}, "retries", "number"),
            ({"timeout": "0"}, "timeout", "greater than 0"),
            ({"timeout": "soon"}, "timeout", "number"),
            ({"concurrency": "1.5"}, "concurrency", "integer"),
            ({"breaker": "-1"}, "breaker", "greater than or equal to 0"),
            ({"rate": "nan"}, "rate", "number"),
            ({"repository": "octo/none"}, "repository", "no repository"),
            ({"repository": ""}, "repository", "no repository"),
            ({"secret": "own", "own_secret": "********"}, "own_secret", "Asterisks"),
            ({"secret": "own"}, "own_secret", "Enter your own secret, or choose another way."),
            ({"secret": "nosuch"}, "own_secret", "Enter your own secret, or choose another way."),
            ({"own_secret": "hush"}, "own_secret", "Choose to use your own secret"),
            ({"concurrency": "9" * 20}, "concurrency", "less than or equal to 1000"),
            ({"concurrency": "9" * 400}, "concurrency", "valid integer"),
            ({"concurrency": "9" * 5000}, "concurrency", "valid integer"),
            ({"timeout": "9" * 400}, "timeout", "valid number"),
            ({"batch": f"max_events={'9' * 20}"}, "batch", "less than or equal to 100"),
            *(
                ({"filter": '{"a":' * levels + "1" + "}" * levels}, "filter", "levels")
                for levels in (30, 230, 300, 1000)
            ),
            ({"secret": "own", "own_secret": "x" * 1025}, "own_secret", "at most 1024"),
        ],
    )
    async def test_an_error_stands_beside_its_field(
        self, world: World, wrong: dict[str, Any], name: str, said: str
    ) -> None:
        async with open_dashboard(world.store, world.seed.token) as browser:
            status, page = await posted(browser, "/ui/hooks/new", **NEW | wrong)
            assert status == 422
            (message,) = re.findall(rf'id="{name}-wrong">(.*?)</p>', page)
            assert said in message
            assert "Value error" not in page
            assert f'href="#{name}"' in page
            # The list of errors is the first with this attribute, so it has the focus.
            assert "<title>Error: New hook" in page
            assert re.findall(r"<(\w+)[^>]* autofocus", page)[0] == "div"
            # The form keeps the other values.
            assert re.search(r'name="events" value="issues" checked', page) or "events" in wrong
            assert (
                len(world.store.read_sync(hook_queries.page, world.seed.hello["id"], limit=10)) == 2
            )

    async def test_the_same_hook_cannot_be_made_twice(self, world: World) -> None:
        async with open_dashboard(world.store, world.seed.token) as browser:
            assert (await posted(browser, "/ui/hooks/new", **NEW))[0] == 303
            status, page = await posted(browser, "/ui/hooks/new", **NEW)
            assert status == 422
            assert "already exists" in text_of(page)

    async def test_hooks_per_event_hold(self, world: World) -> None:
        async with open_dashboard(world.store, world.seed.token, hooks_per_event=2) as browser:
            status, page = await posted(browser, "/ui/hooks/new", **NEW | {"events": "push"})
            assert (status, "push" in text_of(page)) == (422, True)

    async def test_users_without_write_access_cannot_make_a_hook(self, world: World) -> None:
        for token in (world.look_only, world.seed.reader_token):
            async with open_dashboard(world.store, token, last=False) as browser:
                status, _ = await posted(browser, "/ui/hooks/new", "/ui", **NEW)
                assert status in (403, 404, 422), token
        async with open_dashboard(world.store, world.seed.token) as browser:
            theirs = NEW | {"repository": "theirs/thing"}
            status, page = await posted(browser, "/ui/hooks/new", **theirs)
            assert status == 422
            assert "no repository" in text_of(page)
        assert world.store.read_sync(hook_queries.count, world.seed.hello["id"]) == 2


class TestChangedHook:
    async def test_a_hook_is_changed(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}/edit"
        world.store.write_sync(hooks.update, world.good, options={"timeout": 9.0, "breaker": 4})
        form = NEW | {"content_type": "form", "timeout": "", "breaker": "6", "events": "star"}
        del form["verify"]
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = await browser.page(at)
            assert SECRET not in page
            assert re.search(r'name="timeout"[^>]*value="9"', page)
            assert (await posted(browser, at, at, **form))[0] == 303
            after = changed(world, world.good)
            assert (after["url"], after["content_type"], after["insecure_ssl"]) == (URL, "form", 1)
            assert (after["events"], after["options"]) == (["star"], {"breaker": 6})
            assert world.store.read_sync(hooks.secret_of, after) == SECRET
            assert after["active"] == 1

    async def test_a_form_that_is_saved_as_it_is_keeps_long_options(self, world: World) -> None:
        options = {
            "retries": [0.0, *(600_000 + number / 512 for number in range(29))],
            "ordering": {"path": f"/{'member' * 80}/id"},
            "batch": {"max_events": 10, "max_bytes": 1_000_000, "max_wait": 12.3456789},
        }
        world.store.write_sync(hooks.update, world.good, options=options)
        at = f"/ui/hooks/{world.good['id']}/edit"
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = await browser.page(at)
            shown = {
                name: unescape(re.findall(rf'name="{name}"[^>]* value="([^"]*)"', page)[0])
                for name in options
            }
            assert (await posted(browser, at, at, **NEW | shown))[0] == 303
        assert changed(world, world.good)["options"] == options

    async def test_an_error_keeps_the_entered_values(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}/edit"
        async with open_dashboard(world.store, world.seed.token) as browser:
            status, page = await posted(browser, at, at, **NEW | {"url": "ftp://x", "rate": "7"})
            assert status == 422
            assert re.search(r'name="url"[^>]*value="ftp://x"', page)
            assert re.search(r'name="rate"[^>]*value="7"', page)
            assert changed(world, world.good)["version"] == world.good["version"]

    async def test_a_form_of_an_earlier_hook_changes_nothing(
        self, world: World, clock: MovableClock
    ) -> None:
        at = f"/ui/hooks/{world.good['id']}/edit"
        async with open_dashboard(world.store, world.seed.token) as browser:
            (opened,) = re.findall(r'name="opened" value="(\d+)"', await browser.page(at))
            form = {**NEW, "opened": opened}
            clock.advance(seconds=1)
            status, page = await posted(browser, at, at, **form | {"url": ""})
            assert (status, f'name="opened" value="{opened}"' in page) == (422, True)
            assert (await posted(browser, at, at, **form))[0] == 303
            status, page = await posted(browser, at, at, **form | {"url": f"{URL}/2"})
            assert status == 409
            assert "If you save, they replace it." in text_of(page)
            assert changed(world, world.good)["url"] == URL
            (opened,) = re.findall(r'name="opened" value="(\d+)"', page)
            assert re.search(rf'name="url"[^>]*value="{URL}/2"', page)
            form |= {"url": f"{URL}/2", "opened": opened}
            assert (await posted(browser, at, at, **form))[0] == 303
            assert changed(world, world.good)["url"] == f"{URL}/2"

    @pytest.mark.parametrize("url", ["postgres"], indirect=True)
    async def test_a_form_that_waits_for_another_change_changes_nothing(
        self, world: World, clock: MovableClock, url: str
    ) -> None:
        at = f"/ui/hooks/{world.good['id']}/edit"
        async with open_dashboard(world.store, world.seed.token) as browser:
            (opened,) = re.findall(r'name="opened" value="(\d+)"', await browser.page(at))
            clock.advance(seconds=1)
            with transaction(world.store) as db:
                hooks.update(db, world.good, options={"timeout": 7})
                form = {**NEW, "opened": opened, "rate": "3"}
                mine = asyncio.create_task(posted(browser, at, at, **form))
                await until(lambda: mine.done() or waits(url), "the form waits")
            assert (await mine)[0] == 409
            assert changed(world, world.good)["options"] == {"timeout": 7}

    async def test_users_without_write_access_cannot_change_a_hook(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        async with open_dashboard(world.store, world.look_only) as browser:
            for place in ("edit", "delete"):
                assert (await browser.get(f"{at}/{place}")).status_code == 403
            for act in ("edit", "try", "pause", "resume", "delete"):
                assert (await browser.post(f"{at}/{act}", NEW, on=at)).status_code == 403, act
            assert changed(world, world.good)["version"] == world.good["version"]


class TestState:
    async def test_a_pause_and_its_end(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        async with open_dashboard(world.store, world.seed.token) as browser:
            assert (await browser.post(f"{at}/pause", on=at)).status_code == 303
            assert changed(world, world.good)["paused_at"] is not None
            page = await browser.page(at)
            assert f'action="{at}/resume"' in page
            assert f'action="{at}/pause"' not in page
            assert (await browser.post(f"{at}/resume", on=at)).status_code == 303
            assert changed(world, world.good)["paused_at"] is None

    async def test_the_deletion_page_counts_the_waiting_deliveries(self, world: World) -> None:
        at = f"/ui/hooks/{world.failing['id']}"
        world.send(world.failing, "a", "b", status_code=500)
        async with open_dashboard(world.store, world.seed.token) as browser:
            assert "2 deliveries wait" in text_of(await browser.page(f"{at}/delete"))
            assert changed(world, world.failing)["deleted_at"] is None
            answer = await browser.post(f"{at}/delete", on=f"{at}/delete")
            assert (answer.status_code, answer.headers["location"]) == (303, "/ui/hooks")
            assert changed(world, world.failing)["deleted_at"] is not None
            assert (await browser.get(at)).status_code == 404

    async def test_each_action_is_in_the_audit_log(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        async with open_dashboard(world.store, world.seed.token) as browser:
            await browser.post(f"{at}/edit", NEW, on=at)
            await browser.post(f"{at}/edit", NEW | {"url": ""}, on=at)
            for act in ("pause", "resume", "delete"):
                await browser.post(f"{at}/{act}", on=at)
            rows = world.store.read_sync(
                lambda db: db.tuples("SELECT action, actor FROM audit ORDER BY id")
            )
            names = ("change-hook", "pause-hook", "resume-hook", "delete-hook")
            assert rows[1:] == [(f"ui/{name}", "octo") for name in names]

    async def test_a_hook_that_is_off_can_be_paused(self, world: World) -> None:
        world.store.write_sync(
            hook_pauses.pause, world.store.write_sync(hooks.update, world.good, active=False)
        )
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = await browser.page(f"/ui/hooks/{world.good['id']}")
            assert f'action="/ui/hooks/{world.good["id"]}/resume"' in page


class TestOptions:
    async def test_a_filter_an_ordering_signatures_and_a_format(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}/edit"
        wanted = {"payload": {"ref": {"$startsWith": "refs/tags/"}}}
        form = NEW | {
            "filter": json.dumps(wanted), "ordering": "/issue/id", "on_exhausted": "block",
            "signatures": "sha256, v1", "format": "thin", "max_block": "60",
            "batch": "max_events=20 max_wait=2.5",
        }  # fmt: skip
        async with open_dashboard(world.store, world.seed.token) as browser:
            assert (await posted(browser, at, at, **form))[0] == 303
            options = changed(world, world.good)["options"]
            assert options["filter"] == wanted
            assert options["ordering"] == {"path": "/issue/id"}
            assert options["signatures"] == ["sha256", "v1"]
            assert (options["on_exhausted"], options["format"]) == ("block", "thin")
            batch = {"max_events": 20, "max_bytes": 1_000_000, "max_wait": 2.5}
            assert options["batch"] == batch
            page = await browser.page(at)
            assert 'value="max_events=20, max_bytes=1000000, max_wait=2.5"' in page
            assert 'value="/issue/id"' in page
            assert "<option selected>thin" in page
            assert "$startsWith" in page
            shown = await browser.page(f"/ui/hooks/{world.good['id']}")
            assert "max_events=20, max_bytes=1000000, max_wait=2.5" in shown
            for name, wrong in (
                ("filter", "{no"),
                ("signatures", "md5"),
                ("ordering", "nearly"),
                ("batch", "max_events=0"),
                ("batch", "often"),
            ):
                status, page = await posted(browser, at, at, **form | {name: wrong})
                assert status == 422, name
                assert f'id="{name}-wrong"' in page, name
            # A form without these fields leaves the options as they are.
            assert (await posted(browser, at, at, **NEW))[0] == 303
            assert changed(world, world.good)["options"] == options
            emptied = form | dict.fromkeys(("filter", "ordering", "format"), "")
            assert (await posted(browser, at, at, **emptied))[0] == 303
            assert "filter" not in changed(world, world.good)["options"]


class TestTrial:
    async def test_a_trial_saves_nothing(self, world: World) -> None:
        trials = Trials()
        async with open_dashboard(world.store, world.seed.token, trials=trials) as browser:
            form = NEW | {"trial_event": "push", "secret": "own", "own_secret": SECRET}
            status, page = await posted(browser, "/ui/hooks/new/try", **form)
            assert status == 200
            assert "status 401" in text_of(page)
            assert "<no>" in text_of(page)
            assert "<no>" not in page
            assert SECRET not in page
            (asked,) = trials.asked
            assert (asked.url, asked.secret, asked.event) == (URL, SECRET, "push")
            assert b'"full_name":"octo/hello"' in asked.body
            assert world.store.read_sync(hook_queries.count, world.seed.hello["id"]) == 2
            assert world.store.read_sync(lambda db: db.value("SELECT count(*) FROM event")) == 0

    async def test_a_stored_hook_is_tried_as_the_form_is(self, world: World) -> None:
        trials, at = Trials(), f"/ui/hooks/{world.good['id']}"
        world.send(world.good, "g")
        async with open_dashboard(world.store, world.seed.token, trials=trials) as browser:
            form = NEW | {"trial_event": "push", "timeout": "3"}
            assert (await posted(browser, f"{at}/try", f"{at}/edit", **form))[0] == 200
            (asked,) = trials.asked
            assert (asked.hook_id, asked.url, asked.secret) == (world.good["id"], URL, SECRET)
            assert asked.options.timeout == 3
            assert asked.body == b'{"ref":"main","mark":"<b>&"}'
            assert changed(world, world.good)["url"] == world.good["url"]

    async def test_the_request_is_shown_without_being_sent(self, world: World) -> None:
        trials = Trials()
        async with open_dashboard(world.store, world.seed.token, trials=trials) as browser:
            form = NEW | {"how": "show", "trial_event": "interaction_limit"}
            status, page = await posted(browser, "/ui/hooks/new/try", **form)
            assert status == 200
            assert "It has not been sent" in text_of(page)
            assert trials.asked == []

    @pytest.mark.parametrize("wrong", [{"url": "https://forbidden.example"}, {"timeout": "x"},
                                       {"trial_event": "nothing"}])  # fmt: skip
    async def test_a_wrong_form_is_not_tried(self, world: World, wrong: dict[str, str]) -> None:
        trials = Trials()
        async with open_dashboard(world.store, world.seed.token, trials=trials) as browser:
            status, page = await posted(browser, "/ui/hooks/new/try", **NEW | wrong)
            assert status == 422
            assert f'id="{next(iter(wrong))}-wrong"' in page
            assert trials.asked == []

    async def test_a_server_that_cannot_send_offers_none(self, world: World) -> None:
        async with open_dashboard(world.store, world.seed.token) as browser:
            assert "Send a trial" not in text_of(await browser.page("/ui/hooks/new"))
