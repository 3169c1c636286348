"""Jobs in the store: the time of a claim, its holder, and the record of the end."""

import random
from typing import Any

import pytest
from required import required
from store_world import World

from store import Row
from store.clock import HOUR, MINUTE, SECOND
from store.errors import Missing
from store.jobs import jobs
from store.jobs.jobs import CLAIM_TIMEOUT, JobSchedule


@pytest.fixture
def planned(world: World) -> World:
    world.store.write_sync(
        jobs.save_schedules, [JobSchedule("prune", "every 600 s", world.now + MINUTE)]
    )
    return world


def row(world: World, name: str = "prune") -> Row:
    return required(world.store.read_sync(jobs.get, name))


def take(world: World, holder: str = "one", name: str = "prune") -> Row | None:
    """Claim a job. Check that `ready_at` predicts whether the claim succeeds."""
    ready = jobs.ready_at(row(world, name), world.now)
    taken = world.store.write_sync(jobs.claim, name, holder)
    assert (taken is not None) == (ready is not None and ready <= world.now)
    return taken


def taken(world: World, holder: str = "one") -> Row:
    return required(take(world, holder))


def parts(found: Row, *names: str) -> list[Any]:
    return [found[name] for name in names]


def test_a_job_can_be_claimed_at_its_time_and_not_before(planned: World) -> None:
    planned.clock.advance(59.999999)
    assert take(planned) is None
    planned.clock.advance(0.000001)
    assert taken(planned)["started_at"] == planned.now
    assert take(planned, "two") is None


def test_the_end_of_a_job_is_recorded(planned: World) -> None:
    planned.clock.advance(60)
    found = taken(planned)
    planned.clock.advance(2)
    planned.store.write_sync(jobs.complete, found, planned.now + MINUTE)
    kept = row(planned)
    assert parts(kept, "outcome", "error", "failures") == ["done", None, 0]
    assert parts(kept, "started_at", "ended_at") == [planned.now - 2 * SECOND, planned.now]
    assert parts(kept, "due_at", "served_at") == [planned.now + MINUTE, found["started_at"]]
    assert jobs.duration(kept) == 2 * SECOND
    assert take(planned) is None
    planned.clock.advance(60)
    # The metric of the last end goes on while the job runs, or hangs.
    again = taken(planned)
    assert parts(again, "outcome", "ended_at") == [None, kept["ended_at"]]
    assert jobs.duration(again) is None


def test_a_failure_stays_due_and_rests(planned: World) -> None:
    planned.clock.advance(60)
    rests = []
    for failures in range(1, 12):
        planned.store.write_sync(jobs.fail, taken(planned), "disk full")
        kept = row(planned)
        assert parts(kept, "outcome", "error", "failures") == ["failed", "disk full", failures]
        assert kept["due_at"] < planned.now or failures == 1
        assert take(planned) is None
        rests.append(kept["rests_until"] - planned.now)
        planned.clock.advance(rests[-1] / SECOND)
    assert MINUTE / 2 <= rests[0] <= MINUTE
    assert HOUR / 2 <= rests[-1] <= HOUR
    planned.store.write_sync(jobs.complete, taken(planned), planned.now)
    assert parts(row(planned), "failures", "rests_until", "error") == [0, 0, None]


def test_a_requested_job_can_be_claimed_at_once(planned: World) -> None:
    planned.store.write_sync(jobs.request_run, "prune")
    found = taken(planned)
    planned.store.write_sync(jobs.complete, found, found["due_at"])
    # The requested run does not replace the scheduled one.
    assert parts(row(planned), "asked_at", "due_at", "served_at") == [
        None,
        planned.now + MINUTE,
        None,
    ]
    with pytest.raises(Missing, match="no job 'nothing'"):
        planned.store.write_sync(jobs.request_run, "nothing")


def test_asked_for_once_more_while_it_runs(planned: World) -> None:
    planned.store.write_sync(jobs.request_run, "prune")
    found = taken(planned)
    planned.clock.advance(1)
    planned.store.write_sync(jobs.request_run, "prune")
    assert take(planned, "two") is None
    planned.store.write_sync(jobs.complete, found, None)
    assert take(planned, "two") is not None


def test_asked_for_it_does_not_rest(planned: World) -> None:
    planned.clock.advance(60)
    planned.store.write_sync(jobs.fail, taken(planned), "disk full")
    planned.store.write_sync(jobs.request_run, "prune")
    assert take(planned) is not None


def test_a_requested_run_that_fails_is_tried_again_after_a_rest(planned: World) -> None:
    planned.store.write_sync(
        jobs.save_schedules, [JobSchedule("prune", "daily", planned.now + HOUR)]
    )
    planned.store.write_sync(jobs.request_run, "prune")
    planned.store.write_sync(jobs.fail, taken(planned), "disk full")
    assert take(planned) is None
    ready = required(jobs.ready_at(row(planned), planned.now))
    assert MINUTE / 2 <= ready - planned.now <= MINUTE
    planned.clock.advance(60)
    planned.store.write_sync(jobs.complete, taken(planned), planned.now + HOUR)
    assert parts(row(planned), "asked_at", "served_at") == [None, None]
    assert take(planned) is None


def test_a_request_during_a_run_that_fails_does_not_rest(planned: World) -> None:
    planned.clock.advance(60)
    found = taken(planned)
    planned.clock.advance(1)
    planned.store.write_sync(jobs.request_run, "prune")
    planned.store.write_sync(jobs.fail, found, "disk full")
    assert take(planned) is not None


def test_cut_off_it_is_as_due_as_before(planned: World) -> None:
    planned.store.write_sync(jobs.request_run, "prune")
    planned.store.write_sync(jobs.release, taken(planned))
    assert row(planned)["outcome"] == "stopped"
    assert take(planned, "two") is not None


def test_a_claim_lasts_as_long_as_it_is_extended(planned: World) -> None:
    planned.clock.advance(60)
    taken(planned)
    for _ in range(3):
        planned.clock.advance(CLAIM_TIMEOUT / SECOND - 1)
        assert planned.store.write_sync(jobs.extend_claim, "prune", "one")
        assert take(planned, "two") is None
    assert not planned.store.write_sync(jobs.extend_claim, "prune", "two")
    planned.clock.advance(CLAIM_TIMEOUT / SECOND)
    second = taken(planned, "two")
    assert not planned.store.write_sync(jobs.extend_claim, "prune", "one")
    # A worker that has lost its claim changes nothing.
    planned.store.write_sync(jobs.complete, second | {"holder": "one"}, None)
    assert row(planned)["ended_at"] is None
    planned.store.write_sync(jobs.complete, second, None)
    assert not planned.store.write_sync(jobs.extend_claim, "prune", "two")


def test_claims_and_pauses_end_when_the_clock_is_put_back(planned: World) -> None:
    planned.clock.advance(86_400)
    taken(planned)
    planned.clock.advance(-3600)
    assert take(planned, "two") is not None
    planned.store.write_sync(jobs.fail, row(planned), "disk full")
    planned.clock.advance(-2 * 3600)
    assert take(planned) is not None


def test_a_claim_holds_for_a_worker_whose_time_is_a_bit_earlier(planned: World) -> None:
    """A worker that waits for the commit of the claim has the time at which it began to wait."""
    planned.clock.advance(61)
    found = taken(planned)
    planned.clock.advance(-0.5)
    assert take(planned, "two") is None
    planned.store.write_sync(jobs.save_schedules, [JobSchedule("prune", "otherwise", None)])
    planned.store.write_sync(jobs.forget_others, [])
    assert row(planned)["due_at"] == found["due_at"]


def test_the_longest_rest_holds_for_a_worker_whose_time_is_a_bit_earlier(
    planned: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random, "uniform", lambda low, high: high)
    planned.clock.advance(61)
    planned.store.write_sync(jobs.fail, taken(planned) | {"failures": 20}, "disk full")
    planned.clock.advance(-0.5)
    assert take(planned, "two") is None


@pytest.mark.parametrize("failed_before", [False, True])
def test_a_requested_run_of_a_fast_clock_rests_after_a_failure(
    planned: World, failed_before: bool
) -> None:
    planned.store.write_sync(jobs.save_schedules, [JobSchedule("prune", "once", None)])
    planned.clock.advance(86_400)
    planned.store.write_sync(jobs.request_run, "prune")
    if failed_before:
        planned.store.write_sync(jobs.fail, taken(planned), "disk full")
    planned.clock.advance(-86_400)
    planned.store.write_sync(jobs.fail, taken(planned), "disk full")
    planned.clock.advance(1)
    assert take(planned) is None
    planned.clock.advance(3600)
    planned.store.write_sync(jobs.complete, taken(planned), None)
    assert row(planned)["asked_at"] is None
    assert take(planned) is None


def test_a_request_stays_if_the_clock_is_put_back_during_the_run(planned: World) -> None:
    planned.clock.advance(86_400)
    planned.store.write_sync(jobs.request_run, "prune")
    found = taken(planned)
    planned.clock.advance(-86_400)
    planned.store.write_sync(jobs.request_run, "prune")
    planned.store.write_sync(jobs.complete, found, None)
    assert take(planned) is not None


def test_a_running_job_is_not_rescheduled(planned: World) -> None:
    planned.clock.advance(60)
    found = taken(planned)
    planned.store.write_sync(jobs.save_schedules, [JobSchedule("prune", "otherwise", None)])
    assert row(planned)["due_at"] == found["due_at"]
    planned.store.write_sync(jobs.complete, found, planned.now)
    planned.store.write_sync(jobs.save_schedules, [JobSchedule("prune", "otherwise", None)])
    assert parts(row(planned), "schedule", "due_at") == ["otherwise", None]
    assert take(planned) is None


def test_jobs_left_by_a_crash_are_released(planned: World) -> None:
    planned.clock.advance(60)
    taken(planned)
    assert planned.store.write_sync(jobs.release_all) == 1
    assert parts(row(planned), "outcome", "ended_at") == ["stopped", planned.now]
    assert planned.store.write_sync(jobs.release_all) == 0
    assert take(planned, "two") is not None


def test_an_end_far_ahead_is_not_the_last(planned: World) -> None:
    """The clock was fast when a rare job ended."""
    planned.store.write_sync(jobs.save_schedules, [JobSchedule("alerts", "often", planned.now)])
    alerts = required(planned.store.write_sync(jobs.claim, "alerts", "one"))
    planned.store.write_sync(jobs.complete, alerts, None)
    ended = planned.now
    planned.clock.advance(86_400)
    planned.store.write_sync(jobs.complete, taken(planned), None)
    planned.clock.advance(-7200)
    assert planned.store.read_sync(jobs.last_end) == ended


def test_an_unscheduled_job_cannot_be_claimed(world: World) -> None:
    assert world.store.write_sync(jobs.claim, "nothing", "one") is None
    fresh = jobs.new_row("new", "once", None)
    world.store.write_sync(jobs.save_schedules, [JobSchedule("new", "once", None)])
    assert row(world, "new") == fresh
    assert jobs.ready_at(fresh, world.now) is None
