"""Attempts: the effects of an outcome on its delivery and its hook, and pages of attempts."""

from typing import Any

import pytest
from required import required
from store_world import World
from websub_followers import CALLBACK, follow_pushes

from store.clock import DAY, MINUTE, SECOND
from store.delivery import (
    attempt_feed,
    attempts,
    deliveries,
    delivery_queries,
    future_times,
    leases,
)
from store.delivery.attempt_filter import AttemptFilter
from store.delivery.attempts import parse_headers
from store.delivery.deliveries import ClaimedDelivery
from store.delivery.outcomes.attempt_outcomes import record
from store.delivery.outcomes.outcome import Outcome
from store.delivery.websub import websub
from store.hooks import hooks
from store.ordering.delivery_states import DEAD, DELIVERED

GONE = "the endpoint answered 410"


@pytest.fixture
def hook(world: World) -> dict[str, Any]:
    return world.hook("push")


@pytest.fixture
def lease(world: World) -> int:
    return world.lease()


def take(world: World, lease: int, hook: dict[str, Any], many: int = 1) -> list[ClaimedDelivery]:
    """Create `many` deliveries for the hook, and claim them under the lease."""
    for at in range(many):
        world.arrive(f"g-{at}-{world.now}-{len(world.rows())}")
    return world.claim(lease, hook["id"])


def put(world: World, *outcomes: Outcome) -> set[int]:
    return world.store.write_sync(record, outcomes)


def state(world: World, hook: dict[str, Any]) -> tuple[int, str | None, int | None]:
    row = required(world.store.read_sync(hooks.by_id, hook["id"]))
    return row["active"], row["disabled_reason"], row["failing_since"]


class TestTheDelivery:
    def test_a_successful_delivery_is_done(self, world: World, hook: Any, lease: int) -> None:
        (one,) = take(world, lease, hook)
        put(world, world.outcome(lease, one, due_at=world.now + 3))
        row = world.row(one.id)
        assert (row["state"], row["lease_id"], row["attempts"]) == (DELIVERED, None, 1)
        assert row["due_at"] == world.now + 3
        assert world.claim(lease, hook["id"]) == []

    def test_a_failed_delivery_waits_for_its_retry(
        self, world: World, hook: Any, lease: int
    ) -> None:
        (one,) = take(world, lease, hook)
        put(world, world.failure(lease, one, due_at=world.now + MINUTE))
        row = world.row(one.id)
        assert (row["state"], row["lease_id"], row["attempts"]) == (0, None, 1)
        assert row["due_at"] == world.now + MINUTE

    def test_a_delivery_that_failed_for_good_is_dead(
        self, world: World, hook: Any, lease: int
    ) -> None:
        (one,) = take(world, lease, hook)
        put(world, world.failure(lease, one, state=DEAD, number=10))
        row = world.row(one.id)
        assert (row["state"], row["lease_id"], row["attempts"]) == (DEAD, None, 10)

    def test_each_delivery_of_a_batch_has_its_own_outcome(
        self, world: World, hook: Any, lease: int
    ) -> None:
        taken = take(world, lease, hook, 90)
        outcomes = [
            world.outcome(lease, one) if at % 3 else world.failure(lease, one, due_at=at)
            for at, one in enumerate(taken)
        ]
        put(world, *outcomes)
        for at, one in enumerate(taken):
            row = world.row(one.id)
            wanted = (DELIVERED, world.now) if at % 3 else (0, at)
            assert (row["state"], row["due_at"]) == wanted
        assert len(world.store.read_sync(attempts.page, hook["id"], limit=100)) == 90

    def test_recording_no_outcome_changes_nothing(self, world: World) -> None:
        assert put(world) == set()


class TestALateOutcome:
    def test_a_late_outcome_is_recorded_without_changing_the_delivery(
        self, world: World, hook: Any, lease: int
    ) -> None:
        (one,) = take(world, lease, hook)
        world.store.write_sync(leases.release, lease)
        other = world.lease()
        (again,) = world.claim(other, hook["id"])
        assert again.id == one.id
        put(world, world.outcome(lease, one))
        row = world.row(one.id)
        assert (row["state"], row["lease_id"], row["attempts"]) == (0, other, 0)
        put(world, world.failure(other, again, due_at=world.now + 5))
        row = world.row(one.id)
        assert (row["state"], row["lease_id"], row["due_at"]) == (0, None, world.now + 5)
        assert len(world.store.read_sync(attempts.of_delivery, one.id)) == 2

    def test_a_late_failure_does_not_overwrite_a_success(
        self, world: World, hook: Any, lease: int
    ) -> None:
        (one,) = take(world, lease, hook)
        world.store.write_sync(leases.release, lease)
        other = world.lease()
        (again,) = world.claim(other, hook["id"])
        put(world, world.outcome(other, again))
        put(world, world.failure(lease, one))
        assert world.row(one.id)["state"] == DELIVERED

    def test_leaves_a_released_delivery_waiting(self, world: World, hook: Any, lease: int) -> None:
        (one,) = take(world, lease, hook)
        world.store.write_sync(deliveries.release, lease, [one.id])
        put(world, world.failure(lease, one, state=DEAD))
        assert world.row(one.id)["state"] == 0
        assert len(world.claim(lease, hook["id"])) == 1


class TestFailingSince:
    def test_failing_since_is_the_first_failure_in_a_row(
        self, world: World, hook: Any, lease: int
    ) -> None:
        first, second = take(world, lease, hook, 2)
        began = world.now
        put(world, world.failure(lease, first))
        assert state(world, hook) == (1, None, began)
        world.clock.advance(60)
        put(world, world.failure(lease, second))
        assert state(world, hook) == (1, None, began)

    def test_ends_with_a_success(self, world: World, hook: Any, lease: int) -> None:
        first, second, third = take(world, lease, hook, 3)
        put(world, world.failure(lease, first))
        put(world, world.outcome(lease, second))
        assert state(world, hook) == (1, None, None)
        world.clock.advance(60)
        put(world, world.failure(lease, third))
        assert state(world, hook) == (1, None, world.now)

    def test_ends_with_another_url(self, world: World, hook: Any, lease: int) -> None:
        first, second, third = take(world, lease, hook, 3)
        put(world, world.failure(lease, first))
        world.clock.advance(60)
        world.store.write_sync(hooks.update, hook, url="https://another.example/hook")
        assert state(world, hook) == (1, None, None)
        put(world, world.failure(lease, second, url=hook["url"]))
        assert state(world, hook) == (1, None, None), "the former URL answered late"
        put(world, world.failure(lease, second))
        began = world.now
        world.clock.advance(60)
        put(world, world.outcome(lease, third, url=hook["url"]))
        assert state(world, hook) == (1, None, began)

    @pytest.mark.parametrize(("fast", "since"), [(10 * 86_400, 0), (3600, 3600)])
    def test_failing_since_begins_anew_after_a_fast_clock(
        self, world: World, hook: Any, lease: int, fast: int, since: int
    ) -> None:
        first, second, third = take(world, lease, hook, 3)
        world.clock.advance(fast)
        put(world, world.failure(lease, first))
        world.clock.advance(-fast)
        began = world.now + since * SECOND
        assert put(world, world.failure(lease, second, disable_after=5 * DAY)) == set()
        assert state(world, hook) == (1, None, began)
        world.clock.advance(5 * 86_400 + since)
        late = world.failure(lease, third, disable_after=5 * DAY)
        assert put(world, late) == {hook["id"]}

    def test_failing_since_is_separate_for_each_hook(
        self, world: World, hook: Any, lease: int
    ) -> None:
        other = world.hook("push")
        (one,) = take(world, lease, hook)
        (two,) = world.claim(lease, other["id"])
        put(world, world.failure(lease, one), world.outcome(lease, two))
        assert state(world, hook) == (1, None, world.now)
        assert state(world, other) == (1, None, None)

    def test_begins_anew_after_a_success_in_the_same_group(
        self, world: World, hook: Any, lease: int
    ) -> None:
        first, second, third = take(world, lease, hook, 3)
        put(world, world.failure(lease, first))
        world.clock.advance(6 * 86_400)
        disabled = put(
            world,
            world.outcome(lease, second),
            world.failure(lease, third, disable_after=5 * DAY),
        )
        assert disabled == set()
        assert state(world, hook) == (1, None, world.now)

    def test_a_failure_leaves_a_disabled_hook_as_it_is(
        self, world: World, hook: Any, lease: int
    ) -> None:
        (one,) = take(world, lease, hook)
        world.store.write_sync(hooks.disable, hook["id"], "by hand")
        assert put(world, world.failure(lease, one, disable_after=1)) == set()
        assert state(world, hook) == (0, "by hand", None)


class TestDisabling:
    def test_a_reason_disables_a_hook_at_once(self, world: World, hook: Any, lease: int) -> None:
        (one,) = take(world, lease, hook)
        gone = world.failure(lease, one, status_code=410, state=DEAD, disable=GONE)
        assert put(world, gone) == {hook["id"]}
        assert state(world, hook)[:2] == (0, GONE)
        assert world.arrive("g-after").deliveries == 0

    @pytest.mark.parametrize("first", [True, False])
    @pytest.mark.parametrize("neighbour", ["success", "failure"])
    def test_works_beside_other_outcomes_of_the_group(
        self, world: World, hook: Any, lease: int, first: bool, neighbour: str
    ) -> None:
        one, other = take(world, lease, hook, 2)
        gone = world.failure(lease, one, status_code=410, state=DEAD, disable=GONE)
        besides = (
            world.outcome(lease, other) if neighbour == "success" else world.failure(lease, other)
        )
        outcomes = [gone, besides] if first else [besides, gone]
        assert put(world, *outcomes) == {hook["id"]}
        assert state(world, hook)[:2] == (0, GONE)

    def test_leaves_other_hooks_active(self, world: World, hook: Any, lease: int) -> None:
        other = world.hook("push")
        (one,) = take(world, lease, hook)
        (two,) = world.claim(lease, other["id"])
        assert put(world, world.failure(lease, one, disable=GONE), world.failure(lease, two)) == {
            hook["id"]
        }
        assert state(world, other)[:2] == (1, None)

    @pytest.mark.parametrize("ordered", [False, True])
    def test_a_former_url_asks_for_nothing(self, world: World, lease: int, ordered: bool) -> None:
        hook = world.hook("push", options={"ordering": "hook"} if ordered else {})
        (one,) = take(world, lease, hook)
        world.store.write_sync(hooks.update, hook, url="https://another.example/hook")
        gone = world.failure(
            lease, one, url=hook["url"], state=DEAD, disable=GONE, turn=one.turn,
            held_until=world.now + DAY,
        )  # fmt: skip
        assert put(world, gone) == set()
        assert state(world, hook)[:2] == (1, None)
        row = required(world.store.read_sync(hooks.by_id, hook["id"]))
        assert row["held_until"] is None
        (again,) = world.claim(lease, hook["id"])
        assert (again.id, again.attempts) == (one.id, 1)

    def test_a_subscriber_of_websub_is_held_until_it_subscribes_again(
        self, world: World, lease: int
    ) -> None:
        def held_until() -> int | None:
            (row,) = world.store.read_sync(websub.page, limit=9)
            found: int | None = row["held_until"]
            return found

        world.store.write_sync(follow_pushes, world.repo["id"])
        world.arrive("g-1")
        (row,) = world.store.read_sync(websub.page, limit=9)
        (one,) = world.claim(lease, -row["id"])
        held = world.failure(lease, one, url=CALLBACK, held_until=world.now + DAY)
        put(world, held)
        assert held_until() == world.now + DAY
        found = [
            world.store.read_sync(attempt_feed.get_delivery, one.id),
            *world.store.read_sync(attempt_feed.page, AttemptFilter(), limit=9).rows,
            *world.store.read_sync(delivery_queries.page, limit=9),
        ]
        assert [row["held_until"] for row in found if row] == [world.now + DAY] * 3
        world.clock.advance(60)
        world.store.write_sync(follow_pushes, world.repo["id"])
        assert held_until() is None
        # This is an answer to a request from before.
        put(world, held)
        assert held_until() is None

    def test_a_pause_that_a_fast_clock_gave_a_subscriber_ends(
        self, world: World, lease: int
    ) -> None:
        world.store.write_sync(follow_pushes, world.repo["id"])
        (row,) = world.store.read_sync(websub.page, limit=9)
        world.store.write_sync(websub.hold, {-row["id"]: (row["version"], world.now + 365 * DAY)})
        world.store.write_sync(future_times.end_far_delays, world.now + 2 * DAY, 9)
        (row,) = world.store.read_sync(websub.page, limit=9)
        assert row["held_until"] is None

    @pytest.mark.parametrize("ordered", [False, True])
    def test_a_hook_that_is_active_again_stays_active(
        self, world: World, lease: int, ordered: bool
    ) -> None:
        """The answers came to attempts from before the activation."""
        hook = world.hook("push", options={"ordering": "hook"} if ordered else {})
        (one,) = take(world, lease, hook)
        late = world.failure(lease, one, state=DEAD, disable=GONE, turn=one.turn)
        world.store.write_sync(hooks.disable, hook["id"], GONE)
        world.store.write_sync(hooks.update, hook, active=True)
        assert put(world, late) == set()
        assert state(world, hook)[:2] == (1, None)
        (again,) = world.claim(lease, hook["id"])
        assert (again.id, again.attempts) == (one.id, 1)
        gone = world.failure(lease, again, state=DEAD, disable=GONE, turn=again.turn)
        assert put(world, gone) == {hook["id"]}

    def test_twice_is_reported_once(self, world: World, hook: Any, lease: int) -> None:
        one, other = take(world, lease, hook, 2)
        assert put(world, world.failure(lease, one, disable=GONE)) == {hook["id"]}
        assert put(world, world.failure(lease, other, disable="again")) == set()
        assert state(world, hook)[:2] == (0, GONE)

    def test_a_hook_is_disabled_after_its_days_of_failures(
        self, world: World, hook: Any, lease: int
    ) -> None:
        one, two, three = take(world, lease, hook, 3)
        assert put(world, world.failure(lease, one, disable_after=5 * DAY)) == set()
        world.clock.advance(5 * 86_400 - 0.000001)
        assert put(world, world.failure(lease, two, disable_after=5 * DAY)) == set()
        world.clock.advance(0.000001)
        late = world.failure(lease, three, disable_after=5 * DAY, status_code=503)
        assert put(world, late) == {hook["id"]}
        active, reason, _ = state(world, hook)
        assert active == 0
        assert reason == "every delivery failed for 5 days; the last: status 503"

    def test_a_former_url_ends_no_days_of_failures(
        self, world: World, hook: Any, lease: int
    ) -> None:
        """Otherwise its last answer would disable the hook before anything goes to the new URL."""
        one, two, three, four = take(world, lease, hook, 4)
        put(world, world.failure(lease, one))
        world.clock.advance(6 * 86_400)
        world.store.write_sync(hooks.update, hook, url="https://another.example/hook")
        late = world.failure(lease, two, disable_after=5 * DAY, url=hook["url"])
        assert put(world, late) == set()
        assert put(world, world.failure(lease, three, disable_after=5 * DAY)) == set()
        assert state(world, hook) == (1, None, world.now), "the new URL fails for the first time"
        world.clock.advance(5 * 86_400)
        assert put(world, world.failure(lease, four, disable_after=5 * DAY)) == {hook["id"]}

    def test_names_the_last_error(self, world: World, hook: Any, lease: int) -> None:
        one, two = take(world, lease, hook, 2)
        put(world, world.failure(lease, one))
        world.clock.advance(1.5 * 86_400)
        error = "connect: refused"
        put(
            world,
            world.failure(lease, two, disable_after=DAY, status_code=None, error=error),
        )
        assert state(world, hook)[1] == "every delivery failed for 1 days; the last: " + error

    def test_a_limit_of_zero_never_disables_a_hook(
        self, world: World, hook: Any, lease: int
    ) -> None:
        one, two = take(world, lease, hook, 2)
        put(world, world.failure(lease, one))
        world.clock.advance(365 * 86_400)
        assert put(world, world.failure(lease, two, disable_after=0)) == set()
        assert state(world, hook)[0] == 1

    def test_waits_anew_once_the_hook_is_switched_on(
        self, world: World, hook: Any, lease: int
    ) -> None:
        one, two, three = take(world, lease, hook, 3)
        put(world, world.failure(lease, one))
        world.clock.advance(6 * 86_400)
        assert put(world, world.failure(lease, two, disable_after=5 * DAY)) == {hook["id"]}
        world.store.write_sync(
            lambda db: hooks.update(db, hooks.get(db, world.repo["id"], hook["id"]), active=True)
        )
        assert put(world, world.failure(lease, three, disable_after=5 * DAY)) == set()
        assert state(world, hook) == (1, None, world.now)


class TestPage:
    @pytest.fixture
    def made(self, world: World, hook: Any, lease: int) -> list[str]:
        """Record attempts a to f of the hook, a second apart. Return their letters."""
        given: dict[str, dict[str, Any]] = {
            "a": {"status_code": 200},
            "b": {"status_code": 299},
            "c": {"status_code": 300},
            "d": {"status_code": 500},
            "e": {"status_code": None, "error": "connect: refused"},
            "f": {"status_code": 200, "error": "read: the answer broke off"},
        }
        for letter, what in given.items():
            name = "push" if letter in "abc" else "issues"
            world.arrive(f"g-{letter}", name=name)
            (one,) = world.claim(lease, hook["id"])
            put(world, world.outcome(lease, one, response_body=letter, **what))
            world.clock.advance(1)
        return list(given)

    @pytest.fixture
    def hook(self, world: World) -> dict[str, Any]:
        other = world.hook("star")
        world.arrive("g-other", name="star")
        lease = world.lease()
        (one,) = world.claim(lease, other["id"])
        put(world, world.outcome(lease, one))
        return world.hook("push", "issues")

    def page(self, world: World, hook: Any, **given: Any) -> str:
        rows = world.store.read_sync(attempts.page, hook["id"], **({"limit": 10} | given))
        return "".join(row["guid"].removeprefix("g-") for row in rows)

    def ids(self, world: World, hook: Any) -> dict[str, int]:
        rows = world.store.read_sync(attempts.page, hook["id"], limit=10)
        return {row["guid"].removeprefix("g-"): row["id"] for row in rows}

    def test_a_page_of_attempts_is_newest_first_and_limited(
        self, world: World, hook: Any, made: list[str]
    ) -> None:
        assert self.page(world, hook) == "fedcba"
        assert self.page(world, hook, limit=2) == "fe"

    def test_goes_on_before_and_after(self, world: World, hook: Any, made: list[str]) -> None:
        ids = self.ids(world, hook)
        assert self.page(world, hook, before=ids["e"], limit=2) == "dc"
        assert self.page(world, hook, before=ids["a"]) == ""
        assert self.page(world, hook, after=ids["b"], limit=2) == "dc"
        assert self.page(world, hook, after=ids["f"]) == ""
        assert self.page(world, hook, after=ids["a"], before=ids["f"]) == "edcb"

    def test_filters_by_status(self, world: World, hook: Any, made: list[str]) -> None:
        assert self.page(world, hook, status="success") == "ba"
        assert self.page(world, hook, status="failure") == "fedc"

    def test_attempts_are_selected_by_event_time_and_guid(
        self, world: World, hook: Any, made: list[str]
    ) -> None:
        assert self.page(world, hook, event="push") == "cba"
        assert self.page(world, hook, event="push", status="failure") == "c"
        assert self.page(world, hook, since=world.now - 2 * SECOND) == "fe"
        assert self.page(world, hook, guid="g-d") == "d"
        assert self.page(world, hook, guid="g-other") == ""


def test_an_attempt_has_the_recorded_values(world: World, hook: Any, lease: int) -> None:
    receipt = world.arrive("g-1", body=b'{"n":1}', action="opened", installation_id=9)
    (one,) = world.claim(lease, hook["id"])
    began = world.now - SECOND
    put(
        world,
        world.outcome(
            lease,
            one,
            started_at=began,
            duration=123,
            timings='{"dns":1,"connect":2}',
            request_head="POST /hook HTTP/1.1\r\nHost: receiver.example\r\nX-Event: push",
            response_head="Content-Type: text/plain\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2",
            response_body="fine",
        ),
    )
    (listed,) = world.store.read_sync(attempts.page, hook["id"], limit=10)
    found = world.store.read_sync(attempts.get, hook["id"], listed["id"])
    assert found == listed | {
        "request_headers": {"Host": "receiver.example", "X-Event": "push"},
        "response_headers": {"Content-Type": "text/plain", "Set-Cookie": "a=1, b=2"},
        "response_body": "fine",
        "event_body": b'{"n":1}',
        "event_repository": {"id": world.repo["id"], "full_name": "ada/engine"},
    }
    assert listed == listed | {
        "delivery_id": one.id,
        "hook_id": hook["id"],
        "event_id": receipt.event_id,
        "repo_id": world.repo["id"],
        "number": 1,
        "redelivery": 0,
        "started_at": began,
        "duration": 123,
        "status_code": 200,
        "error": None,
        "url": hook["url"],
        "address": "192.0.2.1:443",
        "timings": {"dns": 1, "connect": 2},
        "guid": "g-1",
        "event": "push",
        "action": "opened",
        "installation_id": 9,
    }


def test_an_attempt_without_an_answer_is_recorded(world: World, hook: Any, lease: int) -> None:
    (one,) = take(world, lease, hook)
    put(
        world,
        world.failure(
            lease,
            one,
            status_code=None,
            error="connect: refused",
            address=None,
            response_head=None,
            response_body=None,
        ),
    )
    (listed,) = world.store.read_sync(attempts.page, hook["id"], limit=10)
    world.store.write_sync(lambda db: db.execute("UPDATE event SET body = NULL"))
    found = required(world.store.read_sync(attempts.get, hook["id"], listed["id"]))
    assert (found["response_headers"], found["response_body"]) == (None, None)
    assert found["event_body"] is None


def test_an_attempt_belongs_to_its_hook(world: World, hook: Any, lease: int) -> None:
    (one,) = take(world, lease, hook)
    put(world, world.outcome(lease, one))
    (listed,) = world.store.read_sync(attempts.page, hook["id"], limit=10)
    other = world.hook("star")
    assert world.store.read_sync(attempts.get, other["id"], listed["id"]) is None
    assert world.store.read_sync(attempts.get, hook["id"], listed["id"] + 1) is None


def test_the_attempts_of_a_delivery_first_to_last(world: World, hook: Any, lease: int) -> None:
    (one,) = take(world, lease, hook)
    for number in (1, 2):
        put(world, world.failure(lease, one, due_at=world.now, number=number))
        (one,) = world.claim(lease, hook["id"])
    put(world, world.outcome(lease, one))
    found = world.store.read_sync(attempts.of_delivery, one.id)
    assert [(row["number"], row["status_code"]) for row in found] == [(1, 500), (2, 500), (3, 200)]
    assert world.store.read_sync(attempts.of_delivery, 99) == []


@pytest.mark.parametrize(
    ("head", "wanted"),
    [
        ("", {}),
        ("A: 1", {"A": "1"}),
        ("A:1\r\nB:  2  \r\n", {"A": "1", "B": "2"}),
        ("A: 1\r\nA: 2\r\nA: 3", {"A": "1, 2, 3"}),
        ("A: x: y\r\nEmpty:\r\nnonsense", {"A": "x: y", "Empty": ""}),
    ],
)
def test_heads_are_parsed_into_headers(head: str, wanted: dict[str, str]) -> None:
    assert parse_headers(head) == wanted
