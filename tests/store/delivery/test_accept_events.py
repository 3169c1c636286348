"""Accepted events: their deliveries, the answer to the sender, and the offer to the worker."""

import asyncio
import dataclasses
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from required import required
from store_world import FakeNotifier, World

from store import Connection, Store
from store.accounts import accounts
from store.delivery import deliveries, event_queries, events, hook_removal, leases, outbox
from store.delivery.incoming import IncomingEvent, Receipt
from store.delivery.replays import replay_deliveries
from store.delivery.replays.replay_selection import ReplaySelection
from store.errors import Conflict, Missing
from store.hooks import hooks
from store.hooks.event_names import FITTING, PLATFORM_EVENTS, WILDCARD


@pytest.fixture
def notifier(store: Store) -> FakeNotifier:
    notifier = FakeNotifier()
    store.notifier = notifier
    return notifier


def accept(world: World, *arrivals: IncomingEvent) -> list[Any]:
    return world.store.write_sync(events.accept, arrivals)


def reached(world: World, event_id: int) -> list[int]:
    """The hooks that have a delivery of this event."""
    return sorted(row["hook_id"] for row in world.rows() if row["event_id"] == event_id)


class TestFanOut:
    def test_reaches_exactly_the_hooks_that_subscribe(self, world: World) -> None:
        push, both, star, every = (
            world.hook(*names)["id"]
            for names in (["push"], ["issues", "push"], ["star"], [WILDCARD, "push"])
        )
        world.hook("push", active=False)
        assert reached(world, world.arrive("g-1", name="push").event_id) == [push, both, every]
        assert reached(world, world.arrive("g-2", name="issues").event_id) == [both, every]
        assert reached(world, world.arrive("g-3", name="star").event_id) == [star, every]
        assert reached(world, world.arrive("g-4", name="fork").event_id) == [every]

    def test_stays_within_the_repository(self, world: World) -> None:
        other = world.another_repo()
        here, there = world.hook("push")["id"], world.hook("push", repo=other)["id"]
        assert reached(world, world.arrive("g-1").event_id) == [here]
        assert reached(world, world.arrive("g-1", repo_id=other["id"]).event_id) == [there]
        unknown = world.arrive("g-1", repo_id=0, scope=-1, source_id=1)
        assert reached(world, unknown.event_id) == []

    def test_everything_is_everything_that_has_a_name(self, world: World) -> None:
        hook = world.hook(WILDCARD)["id"]
        made_up = world.arrive("g-1", name="tea_is_ready")
        assert reached(world, made_up.event_id) == []
        for name in sorted(FITTING["repository"])[:10]:
            assert reached(world, world.arrive(f"g-{name}", name=name).event_id) == [hook]

    def test_events_of_one_batch_reach_their_own_subscribers(self, world: World) -> None:
        push = [world.hook("push")["id"] for _ in range(3)]
        issues = world.hook("issues")["id"]
        arrivals = [
            world.arrival(f"g-{at}", name="issues" if at % 3 == 0 else "push") for at in range(100)
        ]
        for at, receipt in enumerate(accept(world, *arrivals)):
            wanted = [issues] if at % 3 == 0 else push
            assert reached(world, receipt.event_id) == wanted
            assert receipt.deliveries == len(wanted)

    def test_makes_deliveries_that_are_due_now(self, world: World) -> None:
        hook = world.hook("push")
        receipt = world.arrive()
        (row,) = world.rows()
        assert row == row | {
            "event_id": receipt.event_id,
            "hook_id": hook["id"],
            "repo_id": world.repo["id"],
            "state": 0,
            "attempts": 0,
            "redelivery": 0,
            "due_at": world.now,
            "lease_id": None,
            "reason": None,
        }

    def test_deliveries_are_made_in_the_order_of_their_events(self, world: World) -> None:
        for _ in range(3):
            world.hook("*")
        world.store.write_sync(events.accept_all, [world.arrival(f"g-{at}") for at in range(50)])
        assert [row["event_id"] for row in world.rows()] == [1 + at // 3 for at in range(150)]
        assert world.store.write_sync(replay_deliveries.create, ReplaySelection(), 0, 50, 151) == (
            150,
            0,
        )
        again = [row["event_id"] for row in world.rows()[150:]]
        assert again == [1 + at // 3 for at in range(150)]

    def test_an_event_reaches_no_deleted_or_disabled_hook(self, world: World) -> None:
        world.store.write_sync(hook_removal.delete, world.hook("push"))
        world.store.write_sync(hooks.disable, world.hook("push")["id"], "gone")
        assert world.arrive().deliveries == 0


class TestTheEvent:
    def test_a_payload_is_stored_byte_for_byte(self, world: World) -> None:
        body = b'{"ref":  "main", "n": 1.0}\n'
        receipt = world.arrive(
            "g-1", body=body, action="opened", source_id=4, scope=-4, installation_id=9
        )
        row = required(world.store.read_sync(events.get, receipt.event_id))
        assert row == row | {
            "id": receipt.event_id,
            "guid": "g-1",
            "scope": -4,
            "repo_id": world.repo["id"],
            "source_id": 4,
            "name": "push",
            "action": "opened",
            "installation_id": 9,
            "received_at": world.now,
            "size": len(body),
            "body": body,
        }

    def test_an_event_without_subscribers_is_kept_and_listed(self, world: World) -> None:
        world.hook("push")
        wanted = world.arrive("g-1")
        unwanted = world.arrive("g-2", name="star")
        assert (wanted.deliveries, unwanted.deliveries) == (1, 0)
        page = world.store.read_sync(event_queries.newest, limit=10, unwanted=True)
        assert [(row["id"], row["deliveries"]) for row in page] == [(unwanted.event_id, 0)]

    def test_a_large_payload_is_stored(self, world: World) -> None:
        body = b'"' + bytes(range(97, 123)) * 1_000_000 + b'"'
        receipt = world.arrive("g-1", body=body)
        row = required(world.store.read_sync(events.get, receipt.event_id))
        assert row["body"] == body
        assert row["size"] == len(body)

    def test_an_unknown_event_id_has_no_event(self, world: World) -> None:
        assert world.store.read_sync(events.get, 99) is None


class TestTheSameAgain:
    def test_a_repeated_event_gets_the_first_answer(self, world: World) -> None:
        world.hook("push")
        first = world.arrive()
        world.clock.advance(60)
        world.hook("push")
        again = world.arrive()
        assert again == dataclasses.replace(first, duplicate=True)
        assert not first.duplicate
        assert len(world.rows()) == 1

    def test_a_repetition_after_a_redelivery_gets_the_first_answer(self, world: World) -> None:
        hook = world.hook("push")
        first = world.arrive()
        world.store.write_sync(
            deliveries.enqueue, first.event_id, hook["id"], world.repo["id"], redelivery=True
        )
        assert world.arrive() == dataclasses.replace(first, duplicate=True)

    def test_a_repetition_in_one_batch_gets_the_first_answer(self, world: World) -> None:
        for _ in range(2):
            world.hook("push")
        first, other, again = accept(
            world, world.arrival("g-1"), world.arrival("g-2"), world.arrival("g-1")
        )
        assert first == Receipt(first.event_id, "g-1", 2, False)
        assert again == Receipt(first.event_id, "g-1", 2, True)
        assert other.event_id != first.event_id
        assert len(world.rows()) == 4

    @pytest.mark.parametrize("given", [{"body": b"{}"}, {"name": "issues"}, {"repo_id": "other"}])
    @pytest.mark.parametrize("together", [True, False])
    def test_another_content_with_the_same_id_is_a_conflict(
        self, world: World, given: dict[str, Any], together: bool
    ) -> None:
        world.hook("push", "issues")
        if "repo_id" in given:
            given = {"repo_id": world.another_repo()["id"]}
        first = world.arrival("g-1", scope=-1)
        second = world.arrival("g-1", scope=-1, **given)
        third = world.arrival("g-3", scope=-1)
        if together:
            answers = accept(world, first, second, third)
        else:
            answers = [*accept(world, first), *accept(world, second, third)]
        assert isinstance(answers[0], Receipt)
        assert isinstance(answers[1], Conflict)
        assert "'g-1'" in str(answers[1])
        assert isinstance(answers[2], Receipt)
        assert len(world.rows()) == 2

    def test_the_same_id_in_another_scope_is_another_event(self, world: World) -> None:
        one, two = world.arrive("g-1"), world.arrive("g-1", scope=-1, body=b"{}")
        assert one.event_id != two.event_id
        assert not two.duplicate

    def test_a_repetition_is_known_after_the_body_is_deleted(self, world: World) -> None:
        first = world.arrive()
        world.store.write_sync(lambda db: db.execute("UPDATE event SET body = NULL"))
        assert world.arrive().event_id == first.event_id
        with pytest.raises(Conflict):
            world.arrive(body=b"{}")

    async def test_given_at_once_by_many_is_one_event(self, world: World) -> None:
        world.hook("push")
        arrivals = [world.arrival(body=b"{}" if at == 7 else b"[]") for at in range(20)]
        answers = await asyncio.gather(
            *[world.store.batch(events.accept, arrival) for arrival in arrivals],
            return_exceptions=True,
        )
        assert isinstance(answers.pop(7), Conflict)
        assert sum(not answer.duplicate for answer in answers) == 1
        assert {(answer.event_id, answer.deliveries) for answer in answers} == {
            (answers[0].event_id, 1)
        }
        assert len(world.rows()) == 1


class TestAllOrNothing:
    def test_keeps_every_event_of_a_batch(self, world: World) -> None:
        receipts = world.store.write_sync(
            events.accept_all, [world.arrival(f"g-{at}") for at in range(3)]
        )
        assert [receipt.guid for receipt in receipts] == ["g-0", "g-1", "g-2"]

    def test_keeps_nothing_beside_a_conflict(self, world: World) -> None:
        world.hook("push")
        arrivals = [world.arrival("g-1"), world.arrival("g-2"), world.arrival("g-1", body=b"{}")]
        with pytest.raises(Conflict):
            world.store.write_sync(events.accept_all, arrivals)
        assert world.store.read_sync(event_queries.newest, limit=10) == []
        assert world.rows() == []


class TestTheWorker:
    def test_a_worker_in_another_process_is_woken_for_new_deliveries(
        self, world: World, notifier: FakeNotifier
    ) -> None:
        ids = [world.hook("push")["id"] for _ in range(2)]
        world.arrive()
        assert notifier.offers == []
        assert notifier.woken == ids
        assert {row["lease_id"] for row in world.rows()} == {None}

    def test_a_worker_is_offered_the_deliveries_under_its_lease(
        self, world: World, notifier: FakeNotifier
    ) -> None:
        first, second = world.hook("push"), world.hook("push")
        world.store.write_sync(hooks.update, second, url="https://other.example/")
        assert notifier.woken == [second["id"]], "the worker is notified of the edit"
        notifier.held = world.lease()
        receipt = world.arrive("g-1", body=b'{"n":1}')
        assert notifier.woken == [second["id"]]
        (offer,) = notifier.offers
        assert (offer.event_id, offer.guid, offer.name) == (receipt.event_id, "g-1", "push")
        assert offer.body == b'{"n":1}'
        versions = {first["id"]: 1, second["id"]: 2}
        assert sorted(offer.deliveries) == [
            (row["id"], row["hook_id"], versions[row["hook_id"]]) for row in world.rows()
        ]
        assert len(offer.deliveries) == 2
        assert {row["lease_id"] for row in world.rows()} == {notifier.held}

    @pytest.mark.parametrize("others", [1, 1000])
    def test_a_worker_is_woken_for_hooks_with_full_lanes(
        self, world: World, notifier: FakeNotifier, others: int
    ) -> None:
        free, full = world.hook("push")["id"], world.hook("push", "star")["id"]
        notifier.held = world.lease()
        notifier.filled = {full, *range(99, 99 + others)}
        world.arrive("g-1")
        world.arrive("g-2", name="star")
        assert {row["hook_id"]: row["lease_id"] for row in world.rows()} == {
            free: notifier.held,
            full: None,
        }
        assert [one[1] for offer in notifier.offers for one in offer.deliveries] == [free]
        assert notifier.woken == [full, full]

    def test_a_worker_is_not_notified_of_an_event_without_subscribers(
        self, world: World, notifier: FakeNotifier
    ) -> None:
        notifier.held = world.lease()
        world.arrive()
        assert (notifier.offers, notifier.woken) == ([], [])

    def test_a_worker_is_not_notified_of_a_repeated_event(
        self, world: World, notifier: FakeNotifier
    ) -> None:
        world.hook("push")
        notifier.held = world.lease()
        for _ in range(3):
            world.arrive()
        assert len(notifier.offers) == 1
        assert notifier.woken == []

    def test_a_worker_is_not_notified_of_an_undone_write(
        self, world: World, notifier: FakeNotifier
    ) -> None:
        world.hook("push")

        def failing(db: Connection) -> None:
            outbox.emit(db, "push", None, world.repo["id"], {})
            raise Missing("after all")

        for held in (None, world.lease()):
            notifier.held = held
            with pytest.raises(Missing):
                world.store.write_sync(failing)
        assert (notifier.offers, notifier.woken) == ([], [])
        assert world.rows() == []

    async def test_a_worker_is_offered_every_event_of_a_group_commit(
        self, world: World, notifier: FakeNotifier
    ) -> None:
        world.hook("push")
        notifier.held = world.lease()
        await asyncio.gather(
            *[world.store.batch(events.accept, world.arrival(f"g-{at}")) for at in range(30)]
        )
        assert sorted(offer.guid for offer in notifier.offers) == sorted(
            f"g-{at}" for at in range(30)
        )
        assert sorted(one[0] for offer in notifier.offers for one in offer.deliveries) == [
            row["id"] for row in world.rows()
        ]

    def test_a_delivery_offered_under_an_ended_lease_is_not_lost(
        self, world: World, notifier: FakeNotifier
    ) -> None:
        hook = world.hook("push")
        notifier.held = world.lease()
        world.store.write_sync(leases.release, notifier.held)
        world.arrive()
        assert world.store.write_sync(leases.release_expired) == 1
        assert len(world.claim(world.lease(), hook["id"])) == 1


class TestEmit:
    def test_writes_the_action_before_the_payload(self, world: World) -> None:
        hook = world.hook("star")["id"]
        receipt = world.store.write_sync(outbox.emit, "star", "created", world.repo["id"], {"n": 1})
        row = required(world.store.read_sync(events.get, receipt.event_id))
        assert row["body"] == b'{"action":"created","n":1}'
        assert (row["name"], row["action"], row["scope"]) == ("star", "created", world.repo["id"])
        assert reached(world, receipt.event_id) == [hook]
        plain = world.store.write_sync(outbox.emit, "push", None, world.repo["id"], {"n": 1})
        row = required(world.store.read_sync(events.get, plain.event_id))
        assert (row["body"], row["action"]) == (b'{"n":1}', None)

    def test_gives_every_event_a_guid(self, world: World) -> None:
        guids = {
            world.store.write_sync(outbox.emit, "push", None, world.repo["id"], {}).guid
            for _ in range(3)
        }
        assert len(guids) == 3

    def test_an_event_can_be_emitted_to_one_hook_only(
        self, world: World, notifier: FakeNotifier
    ) -> None:
        world.hook("ping", WILDCARD)
        hook = world.hook("push")
        notifier.held = world.lease()
        receipt = world.store.write_sync(
            outbox.emit, "ping", None, world.repo["id"], {"zen": "."}, only_hook=hook["id"]
        )
        assert receipt.deliveries == 1
        assert reached(world, receipt.event_id) == [hook["id"]]
        assert notifier.woken == [hook["id"]]
        row = required(world.store.read_sync(events.get, receipt.event_id))
        assert orjson.loads(row["body"]) == {"zen": "."}

    async def test_goes_with_the_change_or_not_at_all(self, world: World) -> None:
        def change(db: Connection, login: str, call: Callable[[], None]) -> None:
            accounts.create(db, login)
            outbox.emit(db, "member", "added", world.repo["id"], {"login": login})
            call()

        world.hook("member")
        answers = await asyncio.gather(
            world.store.write(change, "bob", lambda: None),
            world.store.write(change, "cyd", lambda: 1 // 0),
            return_exceptions=True,
        )
        assert isinstance(answers[1], ZeroDivisionError)
        assert len(world.rows()) == 1
        assert len(world.store.read_sync(event_queries.newest, limit=10)) == 1


def test_pages_of_events(world: World) -> None:
    other = world.another_repo()
    made = [
        world.arrive("g-1"),
        world.arrive("g-2", name="star"),
        world.arrive("g-3", repo_id=other["id"]),
        world.arrive("g-4", repo_id=0, scope=-1),
    ]

    def page(**given: Any) -> list[str]:
        return [
            row["guid"]
            for row in world.store.read_sync(event_queries.newest, **({"limit": 10} | given))
        ]

    assert page() == ["g-4", "g-3", "g-2", "g-1"]
    assert page(limit=2) == ["g-4", "g-3"]
    assert page(before=made[2].event_id) == ["g-2", "g-1"]
    assert page(name="push") == ["g-4", "g-3", "g-1"]
    assert page(repo_id=world.repo["id"]) == ["g-2", "g-1"]
    assert page(repo_id=0) == ["g-4"]
    assert page(repo_id=world.repo["id"], name="star", unwanted=True) == ["g-2"]
    repositories = [
        row["repository"] for row in world.store.read_sync(event_queries.newest, limit=10)
    ]
    assert repositories == [None, "ada/other", "ada/engine", "ada/engine"]


def test_the_latest_event_is_one_with_a_kept_body(world: World) -> None:
    world.arrive("g-1")
    last = world.arrive("g-2")
    world.arrive("g-3", name="star")
    latest = required(world.store.read_sync(event_queries.latest, world.repo["id"], "push"))
    assert latest["guid"] == "g-2"
    world.store.write_sync(
        lambda db: db.execute("UPDATE event SET body = NULL WHERE id = :id", id=last.event_id)
    )
    latest = required(world.store.read_sync(event_queries.latest, world.repo["id"], "push"))
    assert latest["guid"] == "g-1"
    assert world.store.read_sync(event_queries.latest, world.repo["id"], "fork") is None


def test_the_names_are_plain() -> None:
    assert WILDCARD not in PLATFORM_EVENTS
    assert all(name == name.lower() and name.replace("_", "").isalnum() for name in PLATFORM_EVENTS)
