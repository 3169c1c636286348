"""Replays: the selection of events in windows and batches, and runs that survive a crash."""

from typing import Any

import pytest
from store_world import FakeNotifier, World

from store.clock import HOUR, MINUTE, SECOND
from store.delivery import outbox
from store.delivery.replays import replay_deliveries, replay_runs, replay_selection
from store.delivery.replays.replay_selection import ReplaySelection
from store.errors import Invalid, Missing
from store.jobs import jobs
from store.jobs.runs import StaleRun


def let_in(world: World, many: int, *, apart: float = 0, **given: Any) -> None:
    for at in range(many):
        world.arrive(f"{given.get('name')}-{world.now}-{at}", **given)
        world.clock.advance(apart)


def ask(world: World, who: str = "ada", **given: Any) -> Any:
    return world.store.write_sync(replay_runs.create, ReplaySelection(**given), who)


def finish(world: World, run: Any, limit: int = 2) -> Any:
    while run["ended_at"] is None:
        run, _ = world.store.write_sync(replay_runs.run_step, run, limit)
    return run


def again(world: World) -> int:
    return sum(row["redelivery"] for row in world.rows())


class TestSelection:
    def test_the_first_event_since_a_moment_is_found(self, world: World) -> None:
        assert world.store.read_sync(replay_selection.first_event_since, 0) == 1
        start = world.now
        let_in(world, 9, apart=10)
        for at in range(9):
            for shift, wanted in ((-1, at + 1), (0, at + 1), (1, at + 2)):
                moment = start + at * 10 * SECOND + shift
                assert world.store.read_sync(replay_selection.first_event_since, moment) == wanted

    def test_the_first_event_is_found_beside_deleted_ones(self, world: World) -> None:
        start = world.now
        let_in(world, 9, apart=10)
        world.store.write_sync(lambda db: db.execute("DELETE FROM event WHERE id IN (1, 4, 5, 9)"))
        found = [
            world.store.read_sync(replay_selection.first_event_since, start + at * 10 * SECOND)
            for at in range(10)
        ]
        assert found[:8] == [2, 2, 3, 4, 4, 4, 7, 8]
        assert found[8] == found[9] == 9

    def test_the_range_of_ids_has_room_for_late_numbers(self, world: World) -> None:
        start = world.now
        let_in(world, 9, apart=30)
        chosen = ReplaySelection(since=start + 4 * MINUTE, until=start + 4 * MINUTE)
        assert world.store.read_sync(replay_selection.id_range, chosen) == (6, 9)
        chosen = ReplaySelection(until=start + MINUTE)
        assert world.store.read_sync(replay_selection.id_range, chosen) == (0, 5)
        assert world.store.read_sync(replay_selection.id_range, ReplaySelection()) == (0, 9)

    def test_a_selection_is_counted_in_windows(self, world: World) -> None:
        hook = world.hook("push")["id"]
        let_in(world, 5)
        let_in(world, 2, name="star")
        for chosen, wanted in (
            (ReplaySelection(hook_id=hook), 5),
            (ReplaySelection(event="star"), 0),
        ):
            many = after = 0
            for _ in range(9):
                found, after = world.store.read_sync(replay_selection.count, chosen, after, 7, 2)
                many += found
                if not after:
                    break
            assert (many, after) == (wanted, 0)
            assert world.store.read_sync(replay_selection.total, chosen) == (wanted, 7)

    def test_an_event_may_have_an_action(self, world: World) -> None:
        hook = world.hook("issues")["id"]
        for action in ("opened", "closed", "opened", None):
            let_in(world, 1, apart=1, name="issues", action=action)
        for event, wanted in {
            "issues": 4,
            "issues.opened": 2,
            "issues.closed": 1,
            "issues.gone": 0,
            "star.opened": 0,
        }.items():
            for place in ({"hook_id": hook}, {"repo_id": world.repo["id"]}, {}):
                chosen = ReplaySelection(event=event, **place)
                assert world.store.read_sync(replay_selection.total, chosen)[0] == wanted, event
                made, _ = world.store.write_sync(replay_deliveries.create, chosen, 0, 4, 9)
                assert made == wanted, event

    def test_an_event_for_one_hook_reaches_no_other(self, world: World) -> None:
        """A deleted hook's own `meta` shows its URL. A forge's `meta` is for all subscribers."""
        deleted = world.hook("*")["id"]
        repo_id = world.repo["id"]
        world.store.write_sync(outbox.emit, "meta", "deleted", repo_id, {}, only_hook=deleted)
        world.store.write_sync(outbox.emit, "ping", None, repo_id, {}, only_hook=deleted)
        world.store.write_sync(outbox.send_example, "push", None, repo_id, b"{}", deleted)
        hook = world.hook("*")["id"]
        for failed in (False, True):
            chosen = ReplaySelection(repo_id=repo_id, hook_id=hook, failed=failed)
            assert world.store.read_sync(replay_selection.total, chosen) == (0, 3)
        world.arrive(name="meta", action="deleted", scope=-1, source_id=1)
        assert world.store.read_sync(replay_selection.total, chosen) == (0, 4)
        assert world.store.read_sync(replay_selection.total, ReplaySelection(hook_id=hook)) == (
            1,
            4,
        )

    def test_no_event_is_delivered_by_half(self, world: World) -> None:
        for _ in range(3):
            world.hook("push")
        let_in(world, 4)
        found = []
        after = 0
        while True:
            made, after = world.store.write_sync(
                replay_deliveries.create, ReplaySelection(), after, 4, 4
            )
            found.append((made, after))
            if not after:
                break
        assert found == [(3, 1), (3, 2), (3, 3), (3, 0)]

    def test_events_without_subscribers_are_skipped_in_windows(self, world: World) -> None:
        hook = world.hook("star")["id"]
        let_in(world, 5)
        let_in(world, 1, name="star")
        after, seen = 0, []
        while True:
            made, after = world.store.write_sync(
                replay_deliveries.create, ReplaySelection(hook_id=hook), after, 6, 10, 2
            )
            seen.append((made, after))
            if not after:
                break
        assert seen == [(0, 2), (0, 4), (1, 6), (0, 0)]

    def test_a_replay_of_one_hook_reads_events_of_its_repository_only(self, world: World) -> None:
        other = world.another_repo()
        there = world.hook("push", repo=other)["id"]
        let_in(world, 3)
        let_in(world, 1, repo_id=other["id"])
        assert world.store.write_sync(
            replay_deliveries.create, ReplaySelection(hook_id=there), 0, 4, 10, 2
        ) == (
            1,
            0,
        )


class TestRun:
    def test_goes_on_from_where_it_was(self, world: World) -> None:
        hook = world.hook("push")["id"]
        let_in(world, 5)
        world.store.notifier = notifier = FakeNotifier()
        run = ask(world, hook_id=hook, repo_id=world.repo["id"])
        assert notifier.woken == [jobs.JOBS_WAKEUP]
        assert (run["total"], run["made"], run["after_id"]) == (5, 0, 0)
        assert world.store.read_sync(replay_runs.RUNS.next_due) == run["created_at"]
        run, made = world.store.write_sync(replay_runs.run_step, run, 2)
        assert (made, run["made"], run["ended_at"]) == (2, 2, None)
        assert replay_runs.progress(run) == 2 / 5
        # After a crash, another worker reads the run from the store and continues it.
        run = finish(world, world.store.read_sync(replay_runs.RUNS.current))
        assert (run["made"], run["outcome"], replay_runs.progress(run)) == (5, "done", 1)
        assert again(world) == 5
        assert world.store.read_sync(replay_runs.RUNS.next_due) is None

    def test_a_run_covers_the_events_that_existed_at_its_start(self, world: World) -> None:
        world.hook("push")
        let_in(world, 2)
        run = ask(world)
        let_in(world, 2, name="push")
        assert finish(world, run)["made"] == 2
        run = ask(world, since=world.now + HOUR)
        assert finish(world, run)["made"] == 0

    def test_a_step_is_done_once(self, world: World) -> None:
        world.hook("push")
        let_in(world, 3)
        run = ask(world)
        world.store.write_sync(replay_runs.run_step, run, 2)
        with pytest.raises(StaleRun):
            world.store.write_sync(replay_runs.run_step, run, 2)
        assert again(world) == 2

    def test_a_run_is_cancelled_once_and_keeps_its_deliveries(self, world: World) -> None:
        world.hook("push")
        let_in(world, 3)
        run, _ = world.store.write_sync(replay_runs.run_step, ask(world), 2)
        cancelled = world.store.write_sync(replay_runs.cancel, run["id"])
        assert (cancelled["outcome"], cancelled["made"]) == ("cancelled", 2)
        with pytest.raises(StaleRun):
            world.store.write_sync(replay_runs.run_step, run, 2)
        with pytest.raises(Invalid, match="is over"):
            world.store.write_sync(replay_runs.cancel, run["id"])
        with pytest.raises(Missing):
            world.store.write_sync(replay_runs.cancel, 99)
        assert world.store.read_sync(replay_runs.RUNS.current) is None

    def test_runs_take_turns(self, world: World) -> None:
        world.hook("push")
        let_in(world, 5)
        first, second = ask(world), ask(world)
        world.clock.advance(1)
        seen = []
        while (run := world.store.read_sync(replay_runs.RUNS.current)) is not None:
            seen.append(run["id"])
            world.store.write_sync(replay_runs.run_step, run, 2)
            world.clock.advance(1)
        assert seen[:4] == [first["id"], second["id"], first["id"], second["id"]]
        assert again(world) == 10

    def test_open_replays_of_a_user_are_bounded(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(replay_runs, "MOST_OPEN", 2)
        ask(world), ask(world)
        with pytest.raises(Invalid, match="2 of your replays are under way"):
            ask(world)
        ask(world, "bob")

    def test_without_a_count_its_share_is_of_the_way(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world.hook("push")
        let_in(world, 4)
        monkeypatch.setattr(replay_selection.count, "__defaults__", (2,))
        run = ask(world)
        assert run["total"] is None
        run, _ = world.store.write_sync(replay_runs.run_step, run, 2)
        assert replay_runs.progress(run) == 1 / 2

    def test_pages_and_forgetting(self, world: World) -> None:
        other = world.another_repo()
        hook = world.hook("push")
        first = ask(world, repo_id=world.repo["id"], hook_id=hook["id"])
        second = ask(world, repo_id=other["id"])
        third = ask(world)

        def page(**given: Any) -> list[int]:
            return [
                row["id"]
                for row in world.store.read_sync(replay_runs.page, **({"limit": 10} | given))
            ]

        assert page() == [third["id"], second["id"], first["id"]]
        assert page(before=second["id"]) == [first["id"]]
        assert page(repo_ids=[world.repo["id"]]) == [first["id"]]
        assert page(repo_ids=[]) == []
        shown = world.store.read_sync(replay_runs.get, first["id"])
        assert (shown["repository"], shown["url"]) == (world.repo["full_name"], hook["url"])
        world.store.write_sync(replay_runs.cancel, first["id"])
        world.clock.advance(1)
        assert world.store.write_sync(replay_runs.RUNS.forget, world.now) == 1
        assert page() == [third["id"], second["id"]]
