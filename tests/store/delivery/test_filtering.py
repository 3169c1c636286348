"""Filters in the fan-out: delivered events, recorded filtered ones, and events of every origin."""

from typing import Any

import orjson
import pytest
from store_world import FakeNotifier, World

from store.clock import HOUR
from store.delivery import (
    deliveries,
    delivery_queries,
    event_queries,
    events,
    filtering,
    outbox,
    retention,
)
from store.delivery.replays import replay_deliveries, replay_selection
from store.delivery.replays.replay_selection import ReplaySelection
from store.errors import Invalid
from store.filters import payload_filter
from store.filters.cel_expression import CelExpression
from store.filters.document import EventDocument
from store.hook_state import hook_health
from store.hooks import hooks
from store.monitoring import minute_counters
from store.ordering.delivery_states import FILTERED, WAITING

TAGS = {"filter": {"payload": {"ref": {"$startsWith": "refs/tags/"}}}}
TAG, BRANCH = b'{"ref":"refs/tags/v1"}', b'{"ref":"refs/heads/main"}'


@pytest.fixture
def notifier(world: World) -> FakeNotifier:
    notifier = FakeNotifier()
    world.store.notifier = notifier
    return notifier


def states(world: World) -> list[tuple[int, int, int]]:
    return [(row["event_id"], row["hook_id"], row["state"]) for row in world.rows()]


def test_filtered_deliveries_are_on_record(world: World, notifier: FakeNotifier) -> None:
    every, tags = world.hook("push")["id"], world.hook("push", options=TAGS)["id"]
    branch, tag = world.arrive("g-1", body=BRANCH), world.arrive("g-2", body=TAG)
    assert states(world) == [
        (branch.event_id, every, WAITING),
        (branch.event_id, tags, FILTERED),
        (tag.event_id, every, WAITING),
        (tag.event_id, tags, WAITING),
    ]
    assert (branch.deliveries, branch.filtered) == (1, [tags])
    assert (tag.deliveries, tag.filtered) == (2, [])
    assert notifier.woken == [every, every, tags]
    left_out = world.rows()[1]
    assert left_out["reason"] == 'filter: payload.ref does not satisfy $startsWith "refs/tags/"'
    shown = world.store.read_sync(event_queries.deliveries_of, branch.event_id, 10)
    assert [row["state"] for row in shown] == ["filtered", "waiting"]


def test_a_nul_in_a_stored_filter_is_replaced_in_the_reason(world: World) -> None:
    world.hook("push", options={"filter": {"payload": {"a\0": "x"}}})
    assert world.arrive(body=b'{"a":"x"}').filtered
    (left_out,) = world.rows()
    assert left_out["reason"] == 'filter: payload.a\ufffd does not satisfy $eq "x"'


def test_filtered_deliveries_are_counted(world: World) -> None:
    tags = world.hook("push", options=TAGS)["id"]
    for number in range(3):
        world.arrive(f"g-{number}", body=BRANCH)
    health = world.store.read_sync(hook_health.get, tags)
    assert health is not None
    assert (health["filtered"], health["waiting"]) == (3, 0)
    minute = world.now // minute_counters.MINUTE
    (counts,) = world.store.read_sync(minute_counters.between, minute, minute + 1, 1, None).values()
    assert (counts.events, counts.filtered) == (3, 3)
    assert world.store.read_sync(delivery_queries.count_by_state)["filtered"] == 3


def test_the_worker_is_offered_the_rest_alone(world: World, notifier: FakeNotifier) -> None:
    notifier.held = lease_id = world.lease()
    every, _ = world.hook("push")["id"], world.hook("push", options=TAGS)["id"]
    world.arrive("g-1", body=BRANCH)
    (offer,) = notifier.offers
    assert [hook_id for _, hook_id, _ in offer.deliveries] == [every]
    assert [row["lease_id"] for row in world.rows()] == [lease_id, None]


def test_a_filter_applies_to_batches_and_repetitions(world: World) -> None:
    world.hook("push", options=TAGS)
    arrivals = [
        world.arrival("g-1", body=TAG),
        world.arrival("g-2", body=BRANCH),
        world.arrival("g-3", body=TAG),
    ]
    receipts = world.store.write_sync(events.accept_all, arrivals)
    assert [one.deliveries for one in receipts] == [1, 0, 1]
    again = world.store.write_sync(events.accept_all, arrivals)
    assert [(one.deliveries, one.duplicate) for one in again] == [(1, True), (0, True), (1, True)]


def test_a_payload_is_parsed_once_and_only_if_a_hook_filters(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[Any] = []
    real = filtering.document
    monkeypatch.setattr(filtering, "document", lambda *a: parsed.append(a[0]) or real(*a))
    world.hook("push")
    world.arrive("g-1", body=TAG)
    assert parsed == []
    for _ in range(3):
        world.hook("push", options=TAGS)
    world.arrive("g-2", body=TAG)
    assert parsed == ["push"]
    world.arrive("g-3", name="star", body=TAG)
    assert parsed == ["push"]


def test_events_of_the_hub_itself_are_filtered(world: World) -> None:
    hook = world.hook("issues", options={"filter": {"action": "opened"}})
    for action in ("opened", "closed"):
        world.store.write_sync(outbox.emit, "issues", action, world.repo["id"], {})
    assert [row["state"] for row in world.rows()] == [WAITING, FILTERED]
    world.store.write_sync(outbox.emit, "ping", None, world.repo["id"], {}, only_hook=hook["id"])
    assert world.rows()[-1]["state"] == WAITING, "a ping is for this hook, and not filtered"


def test_a_filtered_delivery_can_be_redelivered(world: World) -> None:
    hook = world.hook("push", options=TAGS)
    receipt = world.arrive("g-1", body=BRANCH)
    world.store.write_sync(deliveries.redeliver, receipt.event_id, hook["id"], world.repo["id"])
    assert [row["state"] for row in world.rows()] == [FILTERED, WAITING]


def test_a_replay_follows_the_present_filter(world: World) -> None:
    hook = world.hook("push", options=TAGS)
    for guid, body in (("g-1", BRANCH), ("g-2", TAG)):
        world.arrive(guid, body=body)
    heads = {"filter": {"payload": {"ref": {"$startsWith": "refs/heads/"}}}}
    world.store.write_sync(hooks.update, hook, options=heads)
    made, _ = world.store.write_sync(
        replay_deliveries.create, ReplaySelection(hook_id=hook["id"]), 0, 10, 100
    )
    assert made == 1
    assert [row["state"] for row in world.rows()] == [FILTERED, WAITING, WAITING, FILTERED]


def test_a_filtered_delivery_has_not_failed(world: World) -> None:
    world.hook("push", options=TAGS)
    world.arrive("g-1", body=BRANCH)
    chosen = ReplaySelection(failed=True)
    assert world.store.read_sync(replay_selection.total, chosen)[0] == 0


def test_a_filter_is_removed(world: World) -> None:
    hook = world.hook("push", options=TAGS)
    world.store.write_sync(hooks.update, hook, options={})
    assert world.arrive("g-1", body=BRANCH).deliveries == 1


def test_a_filter_of_a_newer_version_delivers(world: World) -> None:
    unknown = {"filter": {"payload": {"ref": {"$future": 1}}}}
    assert payload_filter.load(orjson.dumps(unknown["filter"]).decode()) is None
    world.hook("push", options=unknown)
    assert world.arrive("g-1", body=BRANCH).deliveries == 1


def test_few_hooks_with_unusable_filters_are_named(world: World) -> None:
    for _ in range(filtering.MOST_NAMED + 2):
        world.hook("push", options=TAGS)
    assert world.store.read_sync(filtering.unusable) == []
    world.store.write_sync(lambda db: db.execute("UPDATE hook SET filter = '{\"ref\": 1}'"))
    *named, last = world.store.read_sync(filtering.unusable)
    assert len(named) == filtering.MOST_NAMED
    assert all("gets every event, because its filter is unusable: ref: " in one for one in named)
    assert last == "more hooks with unusable filters: 2"


def test_hooks_with_expressions_share_the_variables_of_an_event(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[EventDocument] = []
    real = CelExpression.evaluate
    monkeypatch.setattr(
        CelExpression, "evaluate", lambda one, found: used.append(found) or real(one, found)
    )
    world.hook("push", options={"filter": {"cel": "payload.ref.startsWith('refs/tags/')"}})
    world.hook("push", options={"filter": {"cel": "payload.ref == 'refs/tags/v1'"}})
    assert world.arrive("g-1", body=TAG).deliveries == 2
    first, second = used
    assert first is second
    used.clear()
    assert world.arrive("g-2", body=BRANCH).deliveries == 0
    # The reason on record comes from the same evaluation.
    assert len(used) == 2


def test_an_expression_that_would_take_too_long_delivers(world: World) -> None:
    many = " || ".join(f"payload.a == {number}" for number in range(90))
    hook = world.hook("push", options={"filter": {"cel": many}})
    large = orjson.dumps({"a": [0] * 90_000})
    assert world.arrive("g-1", body=b'{"a":-1}').deliveries == 0
    assert world.arrive("g-2", body=large).deliveries == 1
    with pytest.raises(Invalid, match="so large"):
        filtering.test(filtering.filter_of(hook), filtering.document("push", None, large))


def test_a_payload_that_would_take_too_long_is_delivered(world: World) -> None:
    many = {"payload": {"$or": [{"a": {"$gt": number}} for number in range(100)]}}
    hook = world.hook("push", options={"filter": many})
    large = orjson.dumps({"a": [0] * 90_000})
    assert world.arrive("g-1", body=b'{"a":[-1]}').deliveries == 0
    assert world.arrive("g-2", body=large).deliveries == 1
    filter_ = filtering.filter_of(hook)
    with pytest.raises(Invalid, match="so large"):
        filtering.test(filter_, filtering.document("push", None, large))


def test_many_small_values_count_like_larger_ones(world: World) -> None:
    """A check takes its time, however small the value is."""
    hook = world.hook("push", options={"filter": {"payload": {"a": {"$or": [{"b": 1}, {"c": 1}]}}}})
    few = orjson.dumps({"a": ["x" * 20] * 40_000})
    many = orjson.dumps({"a": [0] * 510_000})
    assert len(many) < 2 * len(few)
    assert world.arrive("g-1", body=few).deliveries == 0
    assert world.arrive("g-2", body=many).deliveries == 1
    with pytest.raises(Invalid, match="so large"):
        filtering.test(
            filtering.filter_of(hook), filtering.pasted("push", None, orjson.loads(many))
        )


def test_retention_keeps_nothing_for_a_filtered_delivery(world: World) -> None:
    world.hook("push", options=TAGS)
    world.arrive("g-1", body=BRANCH)
    world.clock.advance(2 * HOUR)
    assert world.store.write_sync(retention.drop_bodies, world.now, 10).dropped == 1
    assert world.store.write_sync(retention.drop_events, world.now, 10).dropped == 1
    assert world.rows() == []


def test_a_dry_run_needs_a_filter_that_can_be_used(world: World) -> None:
    with pytest.raises(Invalid, match="the hook has no filter"):
        filtering.filter_of(world.hook("push"))
    with pytest.raises(Invalid, match=r"payload\.a\.\$regex: unknown operator"):
        filtering.filter_of(world.hook("push"), {"payload": {"a": {"$regex": "x"}}})
