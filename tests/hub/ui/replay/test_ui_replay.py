"""The pages of replays: the count before the start, the progress, and the rights to see them."""

import re
from typing import Any
from urllib.parse import parse_qsl

import pytest
from dashboard_client import open_dashboard, text_of
from transactions import transaction
from ui_rows import arrive, hook, operator

from hub.auth import credentials
from hub.ui.pages import replays
from hub.ui.view_context import ViewContext
from hub.ui.viewer import DashboardViewer
from store import Connection, Store
from store.accounts import accounts, apps, tokens
from store.apps import app_hooks, installations
from store.audit import audit_search
from store.clock import MovableClock
from store.delivery.replays import replay_runs
from store.delivery.replays.replay_selection import ReplaySelection
from store.hooks import hook_targets, hooks
from store.repositories import repositories


async def test_the_count_comes_first_and_sends_nothing(store: Store, seed: Any) -> None:
    one = store.write_sync(hook, seed.hello, "push")
    store.write_sync(arrive, seed.hello["id"], 3)
    async with open_dashboard(store, seed.token) as browser:
        assert "No replays yet" in text_of(await browser.page("/ui/replay"))
        page = f"/ui/replay?hook={one['id']}&repository=octo/hello&event=push&count=1"
        said = text_of(await browser.page(page))
        assert "Deliveries to be created 3" in said
        assert "Push events of octo/hello to hook 1:" in said
        assert store.read_sync(replay_runs.page, limit=9) == []
        none = text_of(await browser.page(f"/ui/replay?hook={one['id']}&status=failed&count=1"))
        assert "to be created 0" in none
        assert "Send 0" not in none


async def test_a_replay_is_asked_for_followed_and_cancelled(store: Store, seed: Any) -> None:
    one = store.write_sync(hook, seed.hello, "push")
    store.write_sync(arrive, seed.hello["id"], 3)
    async with open_dashboard(store, seed.token) as browser:
        page = f"/ui/replay?hook={one['id']}&count=1"
        answer = await browser.post("/ui/replay/start", {"hook": str(one["id"])}, on=page)
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/replay/1")
        said = text_of(await browser.page("/ui/replay/1"))
        assert "waiting" in said
        assert "of 3" in said
        assert "this page may be closed" in said
        run = store.read_sync(replay_runs.RUNS.current)
        assert (run["asked_by"], run["repo_id"]) == ("octo", seed.hello["id"])
        store.write_sync(replay_runs.run_step, run, 2)
        said = text_of(await browser.page("/ui/replay/1"))
        assert "under way" in said
        assert "66.7 %" in said
        answer = await browser.post("/ui/replay/1/cancel", on="/ui/replay/1")
        assert answer.status_code == 303
        html = await browser.page("/ui/replay/1")
        assert "cancelled" in text_of(html)
        assert "/ui/replay/1/cancel" not in html
        assert (await browser.post("/ui/replay/1/cancel", on="/ui/replay")).status_code == 422
        assert "cancelled" in text_of(await browser.page("/ui/replay"))
        actions = [row["action"] for row in store.read_sync(audit_search.page, limit=9)]
        assert actions[:2] == ["ui/cancel-replay", "ui/start-replay"]
        await browser.post("/ui/replay/start", {"hook": str(one["id"])}, on=page)
        assert store.write_sync(replay_runs.RUNS.fail, 2)
        assert "The cause is in the log of the worker" in text_of(
            await browser.page("/ui/replay/2")
        )
        assert "failed" in text_of(await browser.page("/ui/replay"))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("", "Choose a repository or a hook"),
        ("repository=octo/nothing", "There is no such repository"),
        ("hook=99", "There is no such hook"),
        ("hook=nowhere", "There is no such hook"),
        ("repository=octo/vault&hook=1", "Hook 1 belongs to octo/hello"),
        ("hook=1&since=yesterday", "'yesterday' is not a time"),
        (
            "hook=1&since=2026-11-20&until=9999-12-31T23:59-01:00",
            "'9999-12-31T23:59-01:00' is not a time",
        ),
        ("hook=1&since=2026-11-21T07:33&until=2026-11-21T07:33", "The end must be after"),
        ("hook=1&since=999999-01-01", "is not a time"),
        ("hook=1&status=nosuch", "The status is failed, or empty."),
        ("hook=1&event=nosuch", "There is no event 'nosuch'."),
        ("hook=1&event=issues.", "There is no event 'issues.'."),
        ("hook=1&event=ping", "Pings are not replayed."),
        ("hook=1,999", "There is no hook 999"),
        (f"hook={'1,' * 500}2", "Name at most 500 hooks."),
        (f"hook=1,{'0' * 10_000}2", "Name at most 500 hooks."),
    ],
)
async def test_a_wrong_selection_is_shown_with_the_reason(
    store: Store, seed: Any, asked: str, said: str
) -> None:
    store.write_sync(hook, seed.hello, "push")
    store.write_sync(hook, seed.hello, "push", url="https://another.example/")
    async with open_dashboard(store, seed.token) as browser:
        assert said in text_of(await browser.page(f"/ui/replay?count=1&{asked}"))


async def test_replays_of_others_are_refused(store: Store, seed: Any) -> None:
    one = store.write_sync(hook, seed.hello, "push")
    run = store.write_sync(
        replay_runs.create, ReplaySelection(hook_id=one["id"], repo_id=seed.hello["id"]), "octo"
    )
    everything = store.write_sync(replay_runs.create, ReplaySelection(), "root")
    async with open_dashboard(store, seed.reader_token, last=False) as browser:
        form = {"hook": str(one["id"])}
        answer = await browser.post("/ui/replay/start", form, on="/ui/replay")
        assert answer.status_code in (403, 404)
        answer = await browser.post("/ui/replay/start", {}, on="/ui/replay")
        assert answer.status_code == 422
        for path in (f"/ui/replay/{run['id']}", f"/ui/replay/{everything['id']}", "/ui/replay/99"):
            assert (await browser.get(path)).status_code in (403, 404)
            assert (await browser.post(f"{path}/cancel", on="/ui/replay")).status_code in (403, 404)
        assert "Nothing that you may see" in text_of(await browser.page("/ui/replay"))
        assert len(store.read_sync(replay_runs.page, limit=9)) == 2
    async with open_dashboard(store, seed.token, last=False) as browser:
        assert (await browser.get(f"/ui/replay/{everything['id']}")).status_code == 404
        await browser.page(f"/ui/replay/{run['id']}")
    async with open_dashboard(store, store.write_sync(operator)) as browser:
        await browser.page(f"/ui/replay/{everything['id']}")
        answer = await browser.post("/ui/replay/start", {}, on="/ui/replay")
        assert answer.status_code == 303
        said = text_of(await browser.page(f"/ui/replay/{run['id']}"))
        assert "octo/hello to hook 1" in said


async def test_an_empty_form_selects_the_failures_of_a_day(store: Store, seed: Any) -> None:
    store.write_sync(hook, seed.hello, "push")
    async with open_dashboard(store, seed.token) as browser:
        for asked in ("", "?hook=1", "?repository=octo/hello"):
            html = await browser.page(f"/ui/replay{asked}")
            assert re.search(r'name="since" type="datetime-local" value="20', html), asked
            assert '<option value="failed" selected>' in html, asked
        for asked in ("?hook=1&count=1", "?event=push"):
            assert "selected>" not in await browser.page(f"/ui/replay{asked}"), asked


async def test_an_ended_replay_is_renewed_without_its_button(
    store: Store, seed: Any, clock: MovableClock
) -> None:
    store.write_sync(hook, seed.hello, "push")
    store.write_sync(arrive, seed.hello["id"], 3)
    chosen = ReplaySelection(hook_id=1, repo_id=seed.hello["id"])
    run = store.write_sync(replay_runs.create, chosen, "octo")
    async with open_dashboard(store, seed.token) as browser:
        async with browser.listening(f"/ui/replay/{run['id']}/live") as heard:
            assert "/ui/replay/1/cancel" in await heard.until("update")
            clock.advance(seconds=5)
            store.write_sync(replay_runs.run_step, run, 100)
            last = (await heard.until("Ended after")).rpartition("event: update")[2]
        assert "/ui/replay/1/cancel" not in last
        assert "Ended after 5 s" in text_of(last)
        assert "Ended after 5 s" in text_of(await browser.page("/ui/replay/1"))


async def test_a_replay_needs_write_access(store: Store, seed: Any) -> None:
    store.write_sync(hook, seed.hello, "push")
    looks, _ = store.write_sync(tokens.create, seed.octo["id"], scopes=["read:repo_hook"])
    async with open_dashboard(store, looks) as browser:
        answer = await browser.post("/ui/replay/start", {"hook": "1"}, on="/ui/replay")
        assert answer.status_code == 403
        assert store.read_sync(replay_runs.page, limit=9) == []


async def test_many_are_counted_while_the_page_is_open(
    store: Store, seed: Any, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replays, "AT_ONCE", 2)
    monkeypatch.setattr(replays, "COUNTED", 2)
    store.write_sync(hook, seed.hello, "push")
    store.write_sync(arrive, seed.hello["id"], 5)
    async with open_dashboard(store, seed.token) as browser:
        html = await browser.page("/ui/replay?hook=1&count=1")
        assert "so far, still counting" in text_of(html)
        assert "/ui/replay/count?" in html
        found = []

        def step(db: Any, state: Any) -> Any:
            look = looking(db, seed, "hook=1&after=2&upto=5&many=2")
            state, parts = replays.continue_count(look, state)
            found.extend(part.values["counted"] for part in parts)
            return state

        state = store.read_sync(step, None)
        for _ in range(3):
            state = store.read_sync(step, state)
        assert found == [4, 5]


def looking(db: Any, seed: Any, query: str) -> Any:
    """Return the context of a request by octo with this query string."""
    caller = credentials.authenticate(db, seed.token)
    return ViewContext(db, None, DashboardViewer(caller), query=dict(parse_qsl(query)))  # type: ignore[arg-type]


async def test_several_hooks_are_one_replay_for_each_repository(store: Store, seed: Any) -> None:
    with transaction(store) as db:
        made = [
            hook(db, repo, "push", url=f"https://ci.example/{name}")["id"]
            for repo, name in ((seed.hello, "a"), (seed.hello, "b"), (seed.vault, "c"))
        ]
        hook(db, seed.hello, "push", url="https://other.example/")
        arrive(db, seed.hello["id"], 3)
        arrive(db, seed.vault["id"], 1)
        db.execute("UPDATE delivery SET state = 2")
        one, two, three = made
    async with open_dashboard(store, seed.token) as browser:
        for named in ("ci.example", f"{one},{two},{three}"):
            said = text_of(await browser.page(f"/ui/replay?hook={named}&status=failed&count=1"))
            assert "Deliveries to be created 7" in said
            assert "of 2 repositories to 3 hooks, only failed deliveries" in said
        form = {"hook": "ci.example", "status": "failed"}
        answer = await browser.post("/ui/replay/start", form, on="/ui/replay?hook=ci&count=1")
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/replay")
        assert "2 replays" in text_of(await browser.page("/ui/replay"))
        runs = store.read_sync(replay_runs.page, limit=9)
        assert [(run["total"], run["hook_ids"]) for run in runs] == [
            (1, f"[{three}]"), (6, f"[{one},{two}]"),
        ]  # fmt: skip
        while (run := store.read_sync(replay_runs.RUNS.current)) is not None:
            store.write_sync(replay_runs.run_step, run, 4)
        sql = "SELECT hook_id, count(*) FROM delivery WHERE redelivery = 1 GROUP BY 1 ORDER BY 1"
        assert store.read_sync(lambda db: db.tuples(sql)) == [(one, 3), (two, 3), (three, 1)]
        assert "to 2 hooks" in text_of(await browser.page("/ui/replay/1"))


async def test_a_wrong_selection_starts_no_replay(store: Store, seed: Any) -> None:
    store.write_sync(hook, seed.hello, "push")
    async with open_dashboard(store, seed.token) as browser:
        for wrong in (
            {"status": "nosuch"},
            {"event": "nosuch"},
            {"event": ".opened"},
            {"hook": "1,999"},
        ):
            form = {"hook": "1", **wrong}
            answer = await browser.post("/ui/replay/start", form, on="/ui/replay")
            assert answer.status_code == 422, wrong
        assert store.read_sync(replay_runs.page, limit=9) == []


async def test_five_hundred_hooks_fit_and_count_once(store: Store, seed: Any) -> None:
    with transaction(store) as db:
        made = [hook(db, seed.hello, "push", url=f"https://ci.example/{n}")["id"] for n in range(2)]
        arrive(db, seed.hello["id"], 1)
        one, two = made
    async with open_dashboard(store, seed.token) as browser:
        for named in (f"{one},{one},{two}", ",".join(["0000000000001"] * 499 + [str(two)])):
            said = text_of(await browser.page(f"/ui/replay?hook={named}&count=1"))
            assert "to 2 hooks" in said
            assert "Deliveries to be created 2" in said


async def test_a_hook_without_a_repository_has_a_replay_of_its_own(store: Store, seed: Any) -> None:
    with transaction(store) as db:
        own = hooks.create(db, hook_targets.SYSTEM, url="https://all.example/", events=["push"])
        one, own = hook(db, seed.hello, "push")["id"], own["id"]
    async with open_dashboard(store, store.write_sync(operator)) as browser:
        page = f"/ui/replay?hook={one},{own}&count=1"
        assert "to 2 hooks" in text_of(await browser.page(page))
        assert "to hook" in text_of(await browser.page("/ui/replay?hook=all.example&count=1"))
        await browser.post("/ui/replay/start", {"hook": f"{one},{own}"}, on=page)
        runs = store.read_sync(replay_runs.page, limit=9)
        assert [(run["hook_id"], run["hook_ids"]) for run in runs] == [
            (own, None),
            (None, f"[{one}]"),
        ]


async def test_a_second_start_leads_to_the_replay_that_runs(store: Store, seed: Any) -> None:
    store.write_sync(hook, seed.hello, "push")
    store.write_sync(arrive, seed.hello["id"], 1)
    async with open_dashboard(store, seed.token) as browser:
        for form, number in (
            ({"hook": "1"}, 1),
            ({"hook": "1"}, 1),
            ({"hook": "1", "event": "push"}, 2),
        ):
            answer = await browser.post("/ui/replay/start", form, on="/ui/replay")
            assert answer.headers["location"] == f"/ui/replay/{number}"
        await browser.post("/ui/replay/1/cancel", on="/ui/replay/1")
        answer = await browser.post("/ui/replay/start", {"hook": "1"}, on="/ui/replay")
        assert answer.headers["location"] == "/ui/replay/3"


async def test_replays_to_hooks_of_others_are_refused(store: Store, seed: Any) -> None:
    ids = [store.write_sync(hook, repo, "push")["id"] for repo in (seed.hello, seed.vault)]
    store.write_sync(arrive, seed.vault["id"], 1)
    async with open_dashboard(store, seed.reader_token) as browser:
        named = ",".join(map(str, ids))
        said = text_of(await browser.page(f"/ui/replay?hook={named}&count=1"))
        assert "you may not administer it" in said
        answer = await browser.post("/ui/replay/start", {"hook": named}, on="/ui/replay")
        assert answer.status_code in (403, 404)
        assert store.read_sync(replay_runs.page, limit=9) == []


async def test_a_replay_of_a_repository_keeps_to_hooks_that_one_may_change(
    store: Store, seed: Any
) -> None:
    def fill_store(db: Any) -> tuple[list[int], str, str]:
        acme = accounts.create(db, "acme", kind="Organization")
        accounts.join(db, acme["id"], seed.octo["id"], "admin")
        repo = repositories.create(db, acme["id"], "engine")
        repositories.grant(db, repo["id"], seed.reader["id"], "admin")
        _, app = apps.create(
            db, acme["id"], "Mill", url="https://mill.example/", kind="integration",
            permissions={"contents": "read"}, events=["push"],
        )  # fmt: skip
        installations.create(db, app, acme, repositories=[repo["id"]])
        targets = (repo["id"], hook_targets.organization(acme["id"]), hook_targets.SYSTEM)
        made = [hooks.create(db, one, url="https://ci.example/", events=["push"])
                for one in targets]  # fmt: skip
        made.append(app_hooks.create(db, app, url="https://mill.example/hook"))
        arrive(db, repo["id"], 2)
        owner, _ = tokens.create(db, seed.octo["id"], scopes=["repo", "admin:org_hook"])
        return [one["id"] for one in made], owner, operator(db)

    def receivers(db: Connection) -> list[Any]:
        return [*db.tuples("SELECT hook_id, count(*) FROM delivery GROUP BY 1 ORDER BY 1")]

    (own, org, system, of_app), owner, root = store.write_sync(fill_store)
    for token, expected in (
        (seed.reader_token, [own]),
        (owner, [own, org]),
        (root, [own, org, system, of_app]),
    ):
        store.write_sync(lambda db: db.execute("DELETE FROM delivery"))
        async with open_dashboard(store, token, last=False) as browser:
            said = text_of(await browser.page("/ui/replay?repository=acme/engine&count=1"))
            assert f"Deliveries to be created {2 * len(expected)}" in said
            form = {"repository": "acme/engine"}
            assert (
                await browser.post("/ui/replay/start", form, on="/ui/replay")
            ).status_code == 303
        run = store.read_sync(replay_runs.RUNS.current)
        store.write_sync(replay_runs.run_step, run, 100)
        assert store.read_sync(receivers) == [(one, 2) for one in expected]


async def test_a_replay_hides_the_url_of_a_hook_that_the_viewer_may_not_see(
    store: Store, seed: Any
) -> None:
    url = "https://siem.example/path-secret"
    made = store.write_sync(hooks.create, hook_targets.SYSTEM, url=url, events=["push"])
    chosen = ReplaySelection(hook_id=made["id"], repo_id=seed.hello["id"])
    run = store.write_sync(replay_runs.create, chosen, "root")
    async with open_dashboard(store, seed.token, last=False) as browser:
        assert "siem.example" not in await browser.page(f"/ui/replay/{run['id']}")
    async with open_dashboard(store, store.write_sync(operator)) as browser:
        assert url in text_of(await browser.page(f"/ui/replay/{run['id']}"))
