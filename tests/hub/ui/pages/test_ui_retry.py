"""Selected deliveries are retried, and single events sent to one hook."""

import re
from typing import Any

import orjson
import pytest
from dashboard_client import open_dashboard, text_of
from transactions import transaction
from ui_trials import Trials
from ui_world import SECRET, World

from store.delivery import deliveries, delivery_queries, hook_removal
from store.hooks import hooks, signing_keys


def redelivered(world: World) -> list[tuple[Any, ...]]:
    sql = "SELECT event_id, hook_id FROM delivery WHERE redelivery = 1 ORDER BY id"
    return world.store.read_sync(lambda db: db.tuples(sql))


class TestRetry:
    async def test_the_number_comes_first_and_progress_after(self, world: World) -> None:
        ids = world.send(world.failing, "a", "b", status_code=500)
        ids += world.send(world.hidden, "c", status_code=500)
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = await browser.page("/ui/deliveries")
            assert page.count('form="retry"') == 3
            asked = "&".join(f"attempt={number}" for number in (ids[0], ids[2], ids[2], "x", 99))
            page = await browser.page(f"/ui/retry?{asked}")
            assert "Retry 2 deliveries?" in text_of(page)
            assert redelivered(world) == []
            form = {"attempt": re.findall(r'name="attempt" value="(\d+)"', page)}
            answer = await browser.post("/ui/retry", form, on=f"/ui/retry?{asked}")
            assert answer.status_code == 303
            assert len(redelivered(world)) == 2
            place = answer.headers["location"]
            assert "Pending 2" in text_of(await browser.page(place))
            live = place.replace("/retried?", "/retried/live?")
            async with browser.listening(live) as heard:
                await heard.until("update")
                world.store.write_sync(lambda db: db.execute("UPDATE delivery SET state = 1"))
                assert "2 of 2" in await heard.until("2 of 2")
            page = text_of(await browser.page(place))
            assert "Delivered 2 of 2" in page

    async def test_a_retry_that_waits_is_not_repeated(self, world: World) -> None:
        (first,) = world.send(world.failing, "a", status_code=500)
        form = {"attempt": [str(first)]}
        async with open_dashboard(world.store, world.seed.token) as browser:
            one = await browser.post("/ui/retry", form, on="/ui/deliveries")
            two = await browser.post("/ui/retry", form, on="/ui/deliveries")
            assert one.headers["location"] == two.headers["location"]
            await browser.post(f"/ui/deliveries/{first}/again", on="/ui/deliveries")
            assert len(redelivered(world)) == 1
            tried = "UPDATE delivery SET attempts = 1 WHERE redelivery = 1"
            world.store.write_sync(lambda db: db.execute(tried))
            await browser.post("/ui/retry", form, on="/ui/deliveries")
            assert len(redelivered(world)) == 2

    async def test_an_ordered_hook_gets_its_retry_out_of_turn(self, world: World) -> None:
        (first,) = world.send(world.failing, "a", status_code=500)
        options = {"options": {"ordering": "hook"}}
        world.store.write_sync(
            lambda db: hooks.update(db, hooks.by_id(db, world.failing["id"]), **options)
        )
        async with open_dashboard(world.store, world.seed.token) as browser:
            form = {"attempt": [str(first)]}
            await browser.post("/ui/retry", form, on=f"/ui/retry?attempt={first}")
        sql = "SELECT ordering_key, out_of_turn FROM delivery WHERE redelivery = 1"
        assert world.store.read_sync(lambda db: db.tuples(sql)) == [("", 1)]

    async def test_progress_shows_deliveries_of_each_state(self, world: World) -> None:
        world.send(world.failing, "a", status_code=500)
        async with open_dashboard(world.store, world.seed.token) as browser:
            for state in delivery_queries.STATES:
                sql = f"UPDATE delivery SET state = {state}"
                world.store.write_sync(lambda db, sql=sql: db.execute(sql))
                page = await browser.page("/ui/retried?deliveries=1")
                assert "failing" in text_of(page)

    async def test_several_attempts_at_one_delivery_are_sent_once(self, world: World) -> None:
        (first,) = world.send(world.failing, "a", status_code=500)

        with transaction(world.store) as db:
            db.execute(
                "INSERT INTO attempt (delivery_id, hook_id, event_id, repo_id, number, redelivery,"
                " started_at, duration, url, timings, request_head) SELECT delivery_id, hook_id,"
                " event_id, repo_id, 2, 0, started_at, duration, url, timings, request_head"
                " FROM attempt"
            )
        async with open_dashboard(world.store, world.seed.token) as browser:
            both = f"/ui/retry?attempt={first}&attempt={first + 1}"
            assert "Retry 1 delivery?" in text_of(await browser.page(both))
            form = {"attempt": [str(first), str(first + 1)]}
            await browser.post("/ui/retry", form, on=both)
            assert len(redelivered(world)) == 1

    async def test_a_delivery_that_cannot_be_retried_shows_the_reason(self, world: World) -> None:
        gone = world.send(world.good, "a")[0]
        bare = world.send(world.failing, "b")[0]
        world.store.write_sync(hook_removal.delete, world.good)
        world.store.write_sync(
            lambda db: db.execute("UPDATE event SET body = NULL WHERE guid = 'b'") and None
        )
        async with open_dashboard(world.store, world.seed.token) as browser:
            both = f"/ui/retry?attempt={gone}&attempt={bare}"
            page = text_of(await browser.page(both))
            for said in ("Nothing to retry", "the hook was deleted", "the payload was deleted"):
                assert said in page
            form = {"attempt": [str(gone), str(bare)]}
            assert (await browser.post("/ui/retry", form, on=both)).status_code == 422
            assert redelivered(world) == []

    async def test_others_deliveries_are_not_retried(self, world: World) -> None:
        theirs = world.send(world.other, "a")[0]
        mine = world.send(world.good, "b")[0]
        made = world.store.write_sync(
            lambda db: deliveries.enqueue(db, 1, world.other["id"], world.other["repo_id"],
                                          redelivery=True)
        )  # fmt: skip
        async with open_dashboard(world.store, world.seed.token, last=False) as browser:
            page = await browser.page(f"/ui/retry?attempt={theirs}")
            assert "/other" not in page
            answer = await browser.post("/ui/retry", {"attempt": str(theirs)})
            assert answer.status_code == 422
            assert "/other" not in await browser.page(f"/ui/retried?deliveries={made}")
        async with open_dashboard(world.store, world.look_only) as browser:
            assert 'form="retry"' not in await browser.page("/ui/deliveries")
            page = text_of(await browser.page(f"/ui/retry?attempt={mine}"))
            assert "you may not change the hook" in page
            assert (await browser.post("/ui/retry", {"attempt": str(mine)})).status_code == 403
        assert len(redelivered(world)) == 1


class TestSend:
    async def test_an_example_goes_to_one_hook_alone(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}"
        trials = Trials()
        async with open_dashboard(world.store, world.seed.token, trials=trials) as browser:
            page = await browser.page(f"{at}/send?event=issues")
            assert "does not subscribe" in text_of(page)
            assert "POST https://receiver.example/good" in page
            assert SECRET not in page
            form = {"event": "issues", "payload": '{"action": "opened", "issue": {"n": 1}}'}
            answer = await browser.post(f"{at}/send", form, on=f"{at}/send")
            assert (answer.status_code, answer.headers["location"]) == (303, at)
            sql = (
                "SELECT e.name, e.action, e.source_id, d.hook_id FROM delivery d"
                " JOIN event e ON e.id = d.event_id"
            )
            found = world.store.read_sync(lambda db: db.tuples(sql))
            assert found == [("issues", "opened", -3, world.good["id"])]
            (event,) = world.store.read_sync(lambda db: db.tuples("SELECT max(id) FROM event"))[0]
            assert "an example" in text_of(await browser.page(f"/ui/events/{event}"))
            # An example does not count as a push of the repository.
            form = {"event": "push", "payload": "{}"}
            await browser.post(f"{at}/send", form, on=f"{at}/send")
            assert (await browser.post(f"{at}/test", on=at)).status_code == 409
            assert "to be created 0" in text_of(
                await browser.page(f"/ui/replay?hook={world.good['id']}&count=1")
            )

    @pytest.mark.parametrize("payload", ["", "{", "[1]", '"x"'])
    async def test_a_payload_has_to_be_an_object(self, world: World, payload: str) -> None:
        at = f"/ui/hooks/{world.good['id']}/send"
        async with open_dashboard(world.store, world.seed.token) as browser:
            answer = await browser.post(at, {"event": "push", "payload": payload}, on=at)
            assert answer.status_code == 422
            assert 'id="payload-wrong"' in answer.text
            assert world.store.read_sync(lambda db: db.value("SELECT count(*) FROM event")) == 0

    @pytest.mark.parametrize("action", ["\0", "x" * 101, "a\nb", 5])
    async def test_an_action_that_names_nothing_is_left_to_the_payload(
        self, world: World, action: Any
    ) -> None:
        """A posted event has no such action either. PostgreSQL accepts no NUL in it."""
        at = f"/ui/hooks/{world.good['id']}/send"
        payload = orjson.dumps({"action": action}).decode()
        async with open_dashboard(world.store, world.seed.token) as browser:
            answer = await browser.post(at, {"event": "issues", "payload": payload}, on=at)
        assert answer.status_code == 303
        assert world.store.read_sync(lambda db: db.value("SELECT action FROM event")) is None

    async def test_the_example_is_the_latest_payload(self, world: World) -> None:
        world.send(world.good, "a", body=b'{"ref":"refs/heads/latest"}')
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = text_of(await browser.page(f"/ui/hooks/{world.good['id']}/send"))
            assert "refs/heads/latest" in page
            assert "the payload of event" in page

    async def test_an_example_that_is_nested_deeply_is_shown(self, world: World) -> None:
        deep = '{"a":' + "[" * 300 + "1" + "]" * 300 + "}"
        world.send(world.good, "a", body=deep.encode())
        at = f"/ui/hooks/{world.good['id']}/send"
        async with open_dashboard(world.store, world.seed.token) as browser:
            assert "[[[" in re.sub(r"\s", "", await browser.page(at))
            answer = await browser.post(at, {"event": "push", "payload": deep}, on=at)
            assert answer.status_code == 422
            assert "The payload is nested too deeply." in text_of(answer.text)

    async def test_a_filter_of_an_older_version_does_no_harm(self, world: World) -> None:
        options = {"filter": {"payload": {"a\0": 1}}}
        world.store.write_sync(hooks.update, world.good, options=options)
        token = world.seed.token
        async with open_dashboard(world.store, token, trials=Trials()) as browser:
            page = await browser.page(f"/ui/hooks/{world.good['id']}/send")
        assert "POST https://receiver.example/good" in page

    async def test_a_mistake_while_keys_are_read_is_not_hidden(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def wanted_keys(*_: object) -> None:
            raise TypeError("a mistake")

        monkeypatch.setattr(signing_keys, "wanted_keys", wanted_keys)
        token = world.seed.token
        async with open_dashboard(world.store, token, trials=Trials()) as browser:
            answer = await browser.get(f"/ui/hooks/{world.good['id']}/send")
        assert answer.status_code == 500

    async def test_every_event_has_an_example(self, world: World) -> None:
        at = f"/ui/hooks/{world.good['id']}/send"
        async with open_dashboard(world.store, world.seed.token) as browser:
            page = await browser.page(at)
            for name in re.findall(r"<option(?: selected)?>(\w+)</option>", page):
                page = await browser.page(f"{at}?event={name}")
                assert "octo/hello" in page, name

    async def test_a_hook_that_is_off_gets_none(self, world: World) -> None:
        world.store.write_sync(hooks.update, world.good, active=False)
        at = f"/ui/hooks/{world.good['id']}/send"
        async with open_dashboard(world.store, world.seed.token) as browser:
            answer = await browser.post(at, {"event": "push", "payload": "{}"}, on=at)
            assert answer.status_code == 409


async def test_a_text_is_found_in_payloads_and_answers(world: World) -> None:
    world.send(world.good, "a", body=b'{"title":"The <bell> rings"}')
    world.send(world.failing, "b", status_code=500, response_body="no bell here")
    world.send(world.good, "c")
    async with open_dashboard(world.store, world.seed.token) as browser:
        page = await browser.page("/ui/deliveries?text=BELL")
        assert re.findall(r'class="guid">(\w+)', page) == ["b", "a"]
        assert "data-stream=" not in page
        page = await browser.page("/ui/deliveries?text=bell&status=failure")
        assert re.findall(r'class="guid">(\w+)', page) == ["b"]
        page = text_of(await browser.page("/ui/deliveries?text=tower"))
        assert "No matching deliveries" in page
