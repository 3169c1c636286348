"""Alerts: each opens and closes once, and its event reaches its hooks."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hub_client import hold_event
from ui_world import World, hook

from hub.settings import HubSettings
from hub.worker_events import WorkerEvents
from store import Connection, Row, Store
from store.alerts import alerts, problems, transitions
from store.alerts.rules import EVENTS, KEY_BLOCKED
from store.alerts.transitions import AlertLimits
from store.clock import DAY, MovableClock
from store.database import body_codec
from store.delivery import hook_removal
from store.errors import Invalid
from store.formats.chat import CHATS, render
from store.formats.event_view import EventView
from store.formats.summary import summary
from store.hook_state import hook_pauses, hook_silences
from store.hooks import hooks
from store.hooks.hook_targets import SYSTEM
from store.ordering import stalled_keys
from store.ordering.delivery_states import DEAD
from worker.jobs.check_alerts import check_alerts
from worker.settings import WorkerSettings

DAYS = 86_400
Check = Callable[..., Any]
OPERATIONAL = ["hook", "delivery", "ordering", "certificate", "backlog"]


@pytest.fixture
def world(store: Store, seed: Any) -> World:
    return World(store, seed)


@pytest.fixture
def check(store: Store, settings: HubSettings) -> Check:
    """A function that runs the job once. It returns the events of that run with their payloads."""
    emit = WorkerEvents(settings)

    async def run(**changed: Any) -> list[tuple[str, dict[str, Any]]]:
        before = store.read_sync(_newest)
        await check_alerts(store, WorkerSettings(**changed), emit)
        return held(store.read_sync(_written, before))

    return run


def _newest(db: Connection) -> int:
    return db.value("SELECT coalesce(max(id), 0) FROM event") or 0


def _written(db: Connection, after: int) -> list[tuple[str, dict[str, Any]]]:
    rows = db.tuples("SELECT name, action, body FROM event WHERE id > :a ORDER BY id", a=after)
    return [
        (f"{name}.{action}", orjson.loads(body_codec.decompress(body)))
        for name, action, body in rows
    ]


def held(events: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    """Check each event against its schema, and the chat messages about it. Return the events."""
    for name, payload in events:
        hold_event(name.partition(".")[0], payload)
        view = EventView(name.partition(".")[0], "g", orjson.dumps(payload), 0)
        for chat in CHATS:
            message = render(chat, view).decode()
            assert "somebody" not in message
            assert "None" not in message
    return events


def _guid(db: Connection, delivery_id: int) -> str:
    found: str = db.value(
        "SELECT e.guid FROM delivery d JOIN event e ON e.id = d.event_id WHERE d.id = :id",
        id=delivery_id,
    )
    return found


def names(events: list[tuple[str, dict[str, Any]]]) -> list[str]:
    return [name for name, _ in events]


async def test_a_failing_hook_is_reported_once_and_its_recovery_when_it_lasts(
    world: World, check: Check, clock: MovableClock
) -> None:
    world.send(world.failing, "a", status_code=503)
    assert await check() == []
    clock.advance(seconds=30 * 60)
    world.send(world.failing, "b", status_code=503)
    ((name, payload),) = await check()
    assert (name, payload["action"]) == ("hook.failing", "failing")
    assert payload["hook"]["target"] == "octo/hello"
    assert payload["last_attempt"]["status_code"] == 503
    assert "receiver.example/failing" not in str(payload)
    for _ in range(3):
        world.send(world.failing, f"c-{clock.now()}", status_code=503)
        clock.advance(seconds=60)
        assert await check() == []
    # One success between failures is no recovery.
    world.send(world.failing, "well")
    assert await check() == []
    clock.advance(seconds=60)
    world.send(world.failing, "again", status_code=503)
    assert await check() == []
    world.send(world.failing, "well at last")
    assert await check() == []
    clock.advance(seconds=119)
    assert await check() == []
    clock.advance(seconds=1)
    assert names(await check()) == ["hook.recovered"]
    assert world.store.read_sync(alerts.list_open, EVENTS, 10) == []
    assert await check() == []


async def test_an_open_circuit_is_reported_before_half_an_hour(
    world: World, check: Check, clock: MovableClock
) -> None:
    world.send(world.failing, "a", status_code=503, cooldown_until=clock.now() + 60_000_000)
    assert names(await check()) == ["hook.failing"]


async def test_a_hook_is_announced_a_day_before_it_is_disabled(
    world: World, check: Check, clock: MovableClock
) -> None:
    world.send(world.failing, "a", status_code=500)
    clock.advance(seconds=4 * DAYS - 1)
    assert names(await check()) == ["hook.failing"]
    clock.advance(seconds=1)
    ((name, payload),) = await check()
    assert name == "hook.will_disable"
    assert payload["disable_at"] > payload["since"]
    clock.advance(seconds=DAYS)
    world.send(world.failing, "b", status_code=500, disable_after=5 * DAYS * 1_000_000)
    ((name, payload),) = await check()
    assert name == "hook.disabled"
    assert "5 days" in payload["reason"]
    assert payload["since"] is not None
    assert payload["last_attempt"]["status_code"] == 500
    row = world.store.read_sync(hooks.by_id, world.failing["id"])
    assert row is not None
    world.store.write_sync(hooks.update, row, active=True)
    assert await check() == []
    assert world.store.read_sync(alerts.list_open, EVENTS, 10) == []


async def test_a_hook_that_is_disabled_later_is_announced_again(
    world: World, check: Check, clock: MovableClock
) -> None:
    world.send(world.failing, "a", status_code=500)
    clock.advance(seconds=4 * DAYS)
    assert names(await check()) == ["hook.failing", "hook.will_disable"]
    world.store.write_sync(_set(world.failing["id"], options='{"disable_after": 604800}'))
    assert await check() == []
    clock.advance(seconds=2 * DAYS - 1)
    assert await check() == []
    clock.advance(seconds=1)
    assert names(await check()) == ["hook.will_disable"]
    assert await check() == []


async def test_a_hook_that_is_never_disabled_is_not_announced(
    world: World, check: Check, clock: MovableClock
) -> None:
    world.send(world.failing, "a", status_code=500)
    clock.advance(seconds=40 * DAYS)
    assert names(await check(disable_after=0)) == ["hook.failing"]


async def test_a_refused_address_is_an_error_of_configuration(world: World, check: Check) -> None:
    world.send(world.failing, "a", status_code=None, error="guard: 10.0.0.1 is private")
    ((name, payload),) = await check()
    assert name == "hook.config_error"
    assert payload["last_attempt"]["error"] == "guard: 10.0.0.1 is private"


def _set(hook_id: int, **columns: Any) -> Callable[[Connection], int]:
    changes = ", ".join(f"{name} = :{name}" for name in columns)
    return lambda db: db.execute(f"UPDATE hook SET {changes} WHERE id = :id", id=hook_id, **columns)


async def test_a_hook_that_cannot_be_used_is_an_error_of_configuration(
    world: World, check: Check
) -> None:
    """The worker pauses such a hook, and no attempt is on record."""
    why, good = "the client certificate has ended", world.good["id"]
    world.send(world.good, "a")
    world.store.write_sync(_set(good, paused_at=1, pause_reason=why))
    ((name, payload),) = await check()
    assert (name, payload["reason"], payload["last_attempt"]) == ("hook.config_error", why, None)
    assert await check() == []
    found = world.store.read_sync(problems.list_all, None)
    assert [one.label for one in found] == ["hooks that cannot be used as they are configured"]
    world.store.write_sync(_set(good, paused_at=None, pause_reason=None))
    assert await check() == []
    assert world.store.read_sync(alerts.list_open, EVENTS, 10) == []


async def test_a_certificate_that_ends_is_announced_three_times(
    world: World, check: Check, clock: MovableClock
) -> None:
    good = world.good["id"]
    world.store.write_sync(_set(good, certificate_ends_at=clock.now() + 31 * DAY))
    assert await check() == []
    announced = []
    for days in (1, 1, 22, 1, 5, 1):
        clock.advance(seconds=days * DAYS)
        announced.append(names(await check()))
    news: list[str] = ["certificate.expiring"]
    assert announced == [news, [], news, [], news, []]
    (row,) = world.store.read_sync(alerts.list_open, EVENTS, 10)
    assert row["subject"] == "1d"
    world.store.write_sync(_set(good, certificate_ends_at=clock.now() + 300 * DAY))
    assert await check() == []
    assert world.store.read_sync(alerts.list_open, EVENTS, 10) == []


async def test_exhausted_deliveries_of_five_minutes_are_one_event(
    world: World, check: Check, clock: MovableClock
) -> None:
    world.send(world.failing, "a", "b", status_code=500, state=DEAD)
    assert await check() == []
    clock.advance(seconds=299)
    world.send(world.failing, "c", status_code=500, state=DEAD)
    assert await check() == []
    clock.advance(seconds=1)
    ((name, payload),) = await check()
    assert (name, payload["count"]) == ("delivery.exhausted", 3)
    guids = [
        world.store.read_sync(_guid, payload[f"{one}_delivery_id"]) for one in ("first", "last")
    ]
    assert guids == ["a", "c"]
    clock.advance(seconds=600)
    assert await check() == []


async def test_alerts_go_on_after_a_fast_clock_is_put_back(
    world: World, check: Check, clock: MovableClock
) -> None:
    clock.advance(seconds=10 * DAYS)
    world.send(world.failing, "a", status_code=500, state=DEAD)
    clock.advance(seconds=-10 * DAYS)
    found = dict(await check())
    assert sorted(found) == ["delivery.exhausted", "hook.failing"]
    world.send(world.failing, "b", status_code=500, state=DEAD)
    assert await check() == []
    clock.advance(seconds=300)
    assert names(await check()) == ["delivery.exhausted"]


async def test_an_alert_closes_after_a_fast_clock_is_put_back(
    world: World, check: Check, clock: MovableClock
) -> None:
    world.send(world.failing, "a", status_code=503, cooldown_until=clock.now() + 60_000_000)
    assert names(await check()) == ["hook.failing"]
    clock.advance(seconds=10 * DAYS)
    world.send(world.failing, "well")
    assert await check() == []
    clock.advance(seconds=-10 * DAYS)
    assert names(await check()) == ["hook.recovered"]


async def test_a_silenced_hook_begins_its_alerts_when_the_silence_ends(
    world: World, check: Check, clock: MovableClock
) -> None:
    bad = world.failing
    (attempt, *_) = world.send(bad, "a", "b", status_code=500, state=DEAD)
    event = world.store.read_sync(lambda db: db.value("SELECT max(event_id) FROM attempt"))
    died = stalled_keys.EndedDelivery(attempt, event, bad["id"], "refs/main", False)
    world.store.write_sync(stalled_keys.add_gap, died, block=True)
    world.store.write_sync(_set(bad["id"], certificate_ends_at=clock.now() + 6 * DAY))
    world.store.write_sync(hook_silences.silence, [bad["id"]], clock.now() + DAY, "ada")
    clock.advance(seconds=3600)
    assert await check(disable_after=7200) == []
    # The silence does not cover other hooks.
    world.send(world.good, "c", status_code=500, state=DEAD)
    clock.advance(seconds=300)
    assert names(await check(disable_after=7200)) == ["delivery.exhausted"]
    clock.advance(seconds=DAYS)
    found = dict(await check(disable_after=7200))
    assert found["delivery.exhausted"]["count"] == 2
    assert sorted(found) == [
        "certificate.expiring",
        "delivery.exhausted",
        "hook.failing",
        "hook.will_disable",
        "ordering.key_blocked",
    ]


async def test_an_alert_begins_at_once_if_the_silence_is_ended(
    world: World, check: Check, clock: MovableClock
) -> None:
    world.send(world.failing, "a", status_code=410, disable="410 Gone", state=DEAD)
    ids = [world.failing["id"]]
    world.store.write_sync(hook_silences.silence, ids, clock.now() + DAY, "ada")
    assert await check() == []
    # A new silence replaces an earlier one, even if it ends sooner.
    world.store.write_sync(hook_silences.silence, ids, clock.now() + 2 * DAY, "ada")
    world.store.write_sync(hook_silences.silence, ids, clock.now() + DAY, "bob")
    silence = world.store.read_sync(hook_silences.active, ids)[ids[0]]
    assert (silence["ends_at"], silence["silenced_by"]) == (clock.now() + DAY, "bob")
    world.store.write_sync(hook_silences.end, ids)
    assert world.store.read_sync(hook_silences.active, ids) == {}
    assert names(await check()) == ["hook.disabled"]


async def test_a_blocked_key_is_reported_once(world: World, check: Check) -> None:
    (attempt,) = world.send(world.failing, "a", status_code=500)
    event = world.store.read_sync(lambda db: db.value("SELECT max(event_id) FROM attempt"))
    died = stalled_keys.EndedDelivery(attempt, event, world.failing["id"], "refs/main", False)
    world.store.write_sync(stalled_keys.add_gap, died, block=True)
    ((name, payload),) = await check()
    assert (name, payload["key"]) == ("ordering.key_blocked", "refs/main")
    assert await check() == []
    world.store.write_sync(stalled_keys.unblock, world.failing["id"], "refs/main")
    assert await check() == []
    world.store.write_sync(stalled_keys.add_gap, died, block=True)
    assert names(await check()) == ["ordering.key_blocked"]
    world.store.write_sync(hook_removal.delete, world.failing)
    await check()
    assert world.store.read_sync(alerts.list_open, [KEY_BLOCKED], 9, None) == []


async def test_the_backlog_ends_below_half_of_its_limit(
    world: World, check: Check, clock: MovableClock
) -> None:
    world.send(world.failing, "a", "b", "c", "d", status_code=500)
    assert await check(alert_backlog=4) == []
    clock.advance(seconds=301)
    assert names(await check(alert_backlog=4)) == ["backlog.high"]
    assert await check(alert_backlog=4) == []
    assert await check(alert_backlog=8) == []
    ((name, payload),) = await check(alert_backlog=9)
    assert (name, payload["due"], payload["limit"]) == ("backlog.normal", 4, 9)
    assert names(await check(alert_backlog=4)) == ["backlog.high"]
    assert names(await check(alert_backlog=0)) == ["backlog.normal"]


async def test_system_hooks_get_the_events_and_cause_none(
    world: World, check: Check, clock: MovableClock
) -> None:
    def subscribe(db: Connection) -> Row:
        return hooks.create(db, SYSTEM, url="https://ops.example/", events=OPERATIONAL)

    ops = world.store.write_sync(subscribe)
    everything = world.store.write_sync(
        lambda db: hooks.create(db, SYSTEM, url="https://all.example/", events=["*"])
    )
    whole = world.store.write_sync(hook, world.seed.hello["id"], "all", events=["*"])
    world.send(world.failing, "a", status_code=None, error="guard: private")
    assert names(await check()) == ["hook.config_error"]
    got = world.store.read_sync(_receivers)
    assert got == {ops["id"]}
    assert not got & {everything["id"], whole["id"]}
    # An alert about the hook that receives alerts is stored, but sends no event.
    world.send({**ops, "repo_id": 0}, "b", status_code=None, error="guard: private")
    assert await check() == []
    rows = world.store.read_sync(alerts.list_open, EVENTS, 10)
    assert sorted((row["kind"], row["hook_id"]) for row in rows) == sorted(
        [("hook.config_error", world.failing["id"]), ("hook.config_error", ops["id"])]
    )


def _receivers(db: Connection) -> set[int]:
    rows = db.tuples(
        "SELECT d.hook_id FROM delivery d JOIN event e ON e.id = d.event_id WHERE e.name = 'hook'"
    )
    return {number for (number,) in rows}


async def test_deleted_and_deactivated_hooks_end_their_alerts_in_silence(
    world: World, check: Check, clock: MovableClock
) -> None:
    for one in (world.failing, world.good):
        world.send(one, one["url"], status_code=500, cooldown_until=clock.now() + 60_000_000)
    assert names(await check()) == ["hook.failing"] * 2
    row = world.store.read_sync(hooks.by_id, world.good["id"])
    assert row is not None
    world.store.write_sync(hooks.update, row, active=False)
    world.store.write_sync(hook_removal.delete, world.failing)
    assert await check() == []
    clock.advance(seconds=120)
    assert await check() == []
    assert world.store.read_sync(alerts.list_open, EVENTS, 10) == []


async def test_a_paused_hook_is_not_reported(
    world: World, check: Check, clock: MovableClock
) -> None:
    world.send(world.failing, "a", status_code=500)
    world.store.write_sync(hook_pauses.pause, world.failing)
    clock.advance(seconds=3600)
    assert await check() == []


async def test_changes_that_another_process_recorded_are_not_recorded_again(
    world: World, clock: MovableClock
) -> None:
    world.send(world.failing, "a", status_code=500, cooldown_until=clock.now() + 60_000_000)
    limits = AlertLimits(0, 0)
    changes = world.store.read_sync(transitions.find, limits)
    assert len(world.store.write_sync(transitions.apply, changes)) == 1
    assert world.store.write_sync(transitions.apply, changes) == []
    world.send(world.failing, "b")
    world.store.write_sync(transitions.apply, world.store.read_sync(transitions.find, limits))
    clock.advance(seconds=120)
    changes = world.store.read_sync(transitions.find, limits)
    assert [row["kind"] for row in world.store.write_sync(transitions.apply, changes)] == [
        "hook.recovered"
    ]
    assert world.store.write_sync(transitions.apply, changes) == []


async def test_a_process_that_closes_one_alert_less_reports_the_other_ends(
    world: World, clock: MovableClock
) -> None:
    limits, sick = AlertLimits(0, 0), {"a": world.good, "b": world.failing}
    for guid, one in sick.items():
        world.send(one, guid, status_code=503, cooldown_until=clock.now() + 60_000_000)
    world.store.write_sync(transitions.apply, world.store.read_sync(transitions.find, limits))
    for guid, one in sick.items():
        world.send(one, f"{guid}-well")
    world.store.write_sync(transitions.apply, world.store.read_sync(transitions.find, limits))
    clock.advance(seconds=120)
    changes = world.store.read_sync(transitions.find, limits)
    # Another process has closed the first alert meanwhile, and reports that.
    world.store.write_sync(alerts.close_all, changes.closing[:1])
    (row,) = world.store.write_sync(transitions.apply, changes)
    assert (row["kind"], row["hook_id"]) == ("hook.recovered", world.failing["id"])


async def test_alerts_that_are_over_are_deleted_after_a_time(
    world: World, check: Check, clock: MovableClock
) -> None:
    world.send(world.failing, "a", status_code=500, state=DEAD)
    clock.advance(seconds=300)
    assert names(await check()) == ["delivery.exhausted"]
    world.send(world.good, "b", status_code=None, error="guard: private")
    await check()
    clock.advance(seconds=60)
    assert world.store.write_sync(alerts.drop, clock.now(), 10) == 1
    assert len(world.store.read_sync(alerts.list_open, EVENTS, 10)) == 1


@pytest.mark.parametrize("name", OPERATIONAL)
def test_only_system_hooks_subscribe_to_operational_events(world: World, name: str) -> None:
    with pytest.raises(Invalid, match="no hook of this repository can get it"):
        world.store.write_sync(hook, world.seed.hello["id"], "x", events=["push", name])


@pytest.mark.parametrize(
    ("name", "payload", "lines"),
    [
        (
            "hook",
            {"action": "recovered", "last_attempt": {"status_code": 200}},
            ["The hook 7 of octo/hello (ci.example) delivers again"],
        ),
        (
            "hook",
            {"action": "disabled", "reason": "410 Gone", "last_attempt": {"status_code": 410}},
            ["The hook 7 of octo/hello (ci.example) was disabled: 410 Gone", "latest: status 410"],
        ),
        (
            "delivery",
            {"action": "exhausted", "count": 3},
            ["3 deliveries have no attempt left: hook 7 of octo/hello (ci.example)"],
        ),
        (
            "ordering",
            {"action": "key_blocked", "key": "refs/main"},
            ["The key refs/main is blocked: hook 7 of octo/hello (ci.example)"],
        ),
        (
            "certificate",
            {"action": "expiring", "ends_at": "2026-12-01T00:00:00Z"},
            ["A certificate ends at 2026-12-01T00:00:00Z: hook 7 of octo/hello (ci.example)"],
        ),
        (
            "backlog",
            {"action": "high", "due": 12, "limit": 10},
            ["The backlog is high: 12 deliveries are due, the limit is 10"],
        ),
    ],
)
def test_chats_get_messages_that_people_read(
    name: str, payload: dict[str, Any], lines: list[str]
) -> None:
    about = {"id": 7, "target": "octo/hello", "host": "ci.example"}
    view = EventView(name, "g", orjson.dumps({"hook": about, **payload}), 0)
    written = summary(view)
    assert ["".join(getattr(part, "text", part) for part in line) for line in written] == lines
