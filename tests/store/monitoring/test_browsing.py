"""Queries of the dashboard's lists: backlogs, unhealthy hooks, names, times, and query plans."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from engines import embedded
from statement_log import plan_lines
from store_world import URL, World
from transactions import transaction

from store import Connection
from store.alerts import hook_checks, problems
from store.alerts.rules import HOOK_RULES
from store.clock import HOUR, MINUTE, SECOND
from store.database.id_search import first_id_since
from store.database.time_range import TimeRange
from store.delivery import attempt_feed, deliveries, event_queries
from store.delivery.attempt_filter import AttemptFilter
from store.delivery.listing import attempt_list
from store.delivery.outcomes import attempt_outcomes
from store.hook_state import hook_health, hook_list, hook_pauses
from store.hook_state.hook_list import HookFilter
from store.hooks import hook_targets, hooks
from store.hooks.event_names import EventPattern, parse_pattern
from store.monitoring import backlog, minute_counters, name_search, stats
from store.monitoring.stats import LATE
from store.ordering.delivery_states import DEAD


def test_late_deliveries_of_repositories(world: World) -> None:
    mine, other = world.hook("push"), world.another_repo()
    world.hook("push", repo=other)
    world.arrive("g-1")
    began = world.now
    world.clock.advance(LATE // SECOND)
    world.arrive("g-2")
    world.arrive("g-3", repo_id=other["id"], scope=other["id"])
    lease = world.lease()
    found = world.store.read_sync(backlog.of_owners, [mine["repo_id"]])
    assert (found.due, found.late, found.later, found.oldest_due_at) == (2, 1, 0, began)
    assert world.store.read_sync(stats.collect).late == 1
    (claimed,) = world.claim(lease, mine["id"], limit=1)
    world.store.write_sync(attempt_outcomes.record, [world.failure(lease, claimed)])
    found = world.store.read_sync(backlog.of_owners, [mine["repo_id"]])
    assert (found.due, found.late, found.later) == (1, 0, 1)
    none = world.store.read_sync(backlog.of_owners, [])
    assert (none.due, none.late, none.later, none.oldest_due_at) == (0, 0, 0, None)


def test_deliveries_that_no_worker_sends_are_in_no_backlog(world: World) -> None:
    world.hook("push", url="pull:ci")
    stopped = world.hook("push", options={"ordering": "hook"})
    paused, usual = world.hook("push"), world.hook("push")
    world.arrive("g-1")
    world.store.write_sync(hooks.disable, stopped["id"], "gone")
    world.store.write_sync(hook_pauses.pause, paused)
    assert len(world.rows()) == 4
    world.clock.advance(LATE // SECOND)
    found = world.store.read_sync(backlog.of_owners, [usual["repo_id"]])
    every = world.store.read_sync(stats.collect)
    assert (found.due, found.late, found.later) == (every.due, every.late, every.later) == (1, 1, 0)


def test_deliveries_that_failed_for_good_are_counted(world: World) -> None:
    hook = world.hook("push")
    for number in range(3):
        world.arrive(f"g-{number}")
    lease = world.lease()
    first, second, third = world.claim(lease, hook["id"])
    world.store.write_sync(attempt_outcomes.record, [world.failure(lease, first, state=DEAD)])
    world.store.write_sync(attempt_outcomes.record, [world.failure(lease, second)])
    gone = [third.id]
    assert world.store.write_sync(deliveries.mark_dead, lease, gone, "the hook is gone") == 1
    assert world.store.write_sync(deliveries.mark_dead, lease, gone, "the hook is gone") == 0
    minute = world.now // minute_counters.MINUTE
    for repo_ids in (None, [hook["repo_id"]]):
        found = world.store.read_sync(minute_counters.between, minute, minute + 1, 1, repo_ids)[
            minute
        ]
        assert (found.failed, found.dead) == (2, 2)


def test_unhealthy_hooks_are_counted_beyond_the_limit(world: World) -> None:
    made = [world.hook("push")["id"] for _ in range(6)]
    off, disabled, resting, early, late, _ = made

    with transaction(world.store) as db:
        for at, hook_id in enumerate((off, resting, early, late)):
            db.execute("UPDATE hook SET failing_since = :at WHERE id = :id", at=at + 1, id=hook_id)
        until = db.now + HOUR
        db.execute("UPDATE hook SET resting_until = :at WHERE id = :id", at=until, id=resting)
        db.execute("UPDATE hook SET active = 0 WHERE id = :id", id=off)
        hooks.disable(db, disabled, "gone")
    rows = world.store.read_sync(hook_health.unhealthy, None, 2)
    assert [row["id"] for row in rows] == [disabled, resting]
    assert {(row["total"], row["failing_first"]) for row in rows} == {(4, 2)}
    rest = world.store.read_sync(hook_health.unhealthy, [world.repo["id"]], 9, 2)
    assert [row["id"] for row in rest] == [early, late]
    assert world.store.read_sync(hook_health.unhealthy, [], 9) == []
    named = world.store.read_sync(hook_health.unhealthy, None, 9, 0, [late, off])
    assert [row["id"] for row in named] == [late]


def test_names_are_found_by_a_part(world: World) -> None:
    other = world.another_repo("o_ther-50")
    hook = world.hook("push", repo=other, url="https://u:p@Receiver.example/A_b?token=x#y")
    login = other["full_name"].partition("/")[0]
    for part, found in (
        ("O_THER", [other["id"]]), ("o.ther", []), ("50!", []), ("%", []), ("", None),
        (f"{login}/o_", [other["id"]]),
    ):  # fmt: skip
        ids = world.store.read_sync(name_search.repositories, part, None)
        assert found is None or ids == found, part
    assert world.store.read_sync(name_search.repositories, "o_ther", [world.repo["id"]]) == []
    for part, is_found in (
        ("receiver.example", True), ("/a_B", True), ("axb", False), ("token", False), ("=x", False),
        ("u:p", False),
    ):  # fmt: skip
        ids = world.store.read_sync(name_search.hooks, part, [other["id"]])
        assert ids == ([hook["id"]] if is_found else []), part
    assert world.store.read_sync(name_search.hooks, "receiver", [world.repo["id"]]) == []


def test_the_attempts_of_a_repository_are_those_to_any_hook(world: World) -> None:
    other = world.another_repo()
    own = world.hook("push")
    of_all = world.store.write_sync(hooks.create, hook_targets.SYSTEM, url=URL, events=["push"])
    world.arrive("g-1")
    world.arrive("g-2", repo_id=other["id"])
    lease = world.lease()
    claimed = world.claim(lease, own["id"], of_all["id"])
    repos = {1: world.repo["id"], 2: other["id"]}
    world.store.write_sync(
        attempt_outcomes.record,
        [world.failure(lease, one, repo_id=repos[one.event_id]) for one in claimed],
    )

    def found(**wanted: Any) -> list[tuple[int, int]]:
        page = world.store.read_sync(attempt_feed.page, AttemptFilter(**wanted), limit=9)
        return sorted((row["hook_id"], row["repo_id"]) for row in page.rows)

    mine = world.repo["id"]
    assert found(events_of=[mine]) == [(own["id"], mine), (of_all["id"], mine)]
    assert found(events_of=[other["id"]]) == [(of_all["id"], other["id"])]
    assert found(events_of=[mine], hook_id=of_all["id"]) == [(of_all["id"], mine)]
    assert found(repo_ids=[mine]) == [(own["id"], mine)]


def test_new_attempts_of_repositories_are_those_to_their_own_hooks(world: World) -> None:
    own = world.hook("push")
    follower = "INSERT INTO subscription (repo_id, event, hook_id) VALUES (:repo_id, 'push', -1)"
    world.store.write_sync(lambda db: db.execute(follower, repo_id=world.repo["id"]))
    world.store.write_sync(hooks.create, hook_targets.SYSTEM, url=URL, events=["push"])
    world.arrive("g-1")
    lease = world.lease()
    claimed = world.claim(lease, -1, *(row["hook_id"] for row in world.rows()))
    world.store.write_sync(attempt_outcomes.record, [world.outcome(lease, one) for one in claimed])
    wanted = AttemptFilter(repo_ids=[world.repo["id"]])
    (fresh,) = world.store.read_sync(attempt_feed.since, wanted, 0, 9)
    (named,) = world.store.read_sync(attempt_feed.list_by_guid, wanted, "g-1", 9)
    assert (fresh["hook_id"], named["hook_id"]) == (own["id"], own["id"])
    assert len(world.store.read_sync(attempt_feed.since, AttemptFilter(), 0, 9)) == 3


@pytest.mark.parametrize(
    ("text", "name", "part"),
    [("", None, None), ("push", "push", None), ("issues.opened", None, "issues.opened"),
     ("iss*", None, "iss"), ("bell", None, "bell")],
)  # fmt: skip
def test_event_filters(text: str, name: str | None, part: str | None) -> None:
    assert parse_pattern(text) == (name, None if part is None else EventPattern(part))


def test_rows_are_found_by_their_time(world: World) -> None:
    time = "e.started_at + e.duration"
    assert world.store.read_sync(first_id_since, "attempt", time, 0) == 1
    hook, lease = world.hook("push"), world.lease()
    began = world.now
    for number in range(9):
        world.arrive(f"g-{number}")
        (claimed,) = world.claim(lease, hook["id"])
        world.store.write_sync(attempt_outcomes.record, [world.outcome(lease, claimed, duration=0)])
        world.clock.advance(10)
    for number in range(10):
        at = began + number * 10 * SECOND
        assert world.store.read_sync(first_id_since, "attempt", time, at) == number + 1


@pytest.mark.parametrize("fetched", [False, True], ids=["pushed", "fetched"])
def test_attempts_of_a_period_are_found_by_their_start(world: World, fetched: bool) -> None:
    """A slow attempt is recorded after quick ones that started later.

    Every fifth attempt takes two minutes, or is kept by a receiver for 50 minutes. A search for
    starts alone would be misled by these.
    """
    hook, lease = world.hook("push"), world.lease()
    if fetched:
        world.hook("release", url="pull:tower")
    recorded: list[tuple[int, int]] = []
    for number in range(60):
        world.arrive(f"g-{number}")
        (claimed,) = world.claim(lease, hook["id"])
        took = (50 * MINUTE if fetched else 2 * MINUTE) if number % 5 == 0 else 0
        started_at = world.now - took
        given = {"duration": 100, "recorded_at": world.now} if fetched else {"duration": took}
        outcome = world.outcome(lease, claimed, started_at=started_at, **given)
        world.store.write_sync(attempt_outcomes.record, [outcome])
        recorded.append((number + 1, started_at))
        world.clock.advance(10)
    first = recorded[0][1]
    for minute in range(-1, 63):
        times = TimeRange(first + minute * MINUTE, first + (minute + 1) * MINUTE)
        ids = world.store.read_sync(attempt_feed.id_range, times)
        for shown in (AttemptFilter(None, hook["id"]), AttemptFilter()):
            narrowed = replace(shown, first=ids[0], before=ids[1], times=times)
            page = world.store.read_sync(attempt_feed.page, narrowed, limit=50)
            expected = [number for number, at in recorded if times.since <= at < times.until]
            assert sorted(row["id"] for row in page.rows) == expected
            assert world.store.read_sync(attempt_list.count, narrowed).many == len(expected)


# With this many rows, both engines prefer an index.
MANY = 20_000
FILTERS = (
    AttemptFilter(),
    AttemptFilter(first=2_000, before=2_500),
    AttemptFilter(first=2_000, before=2_500, times=TimeRange(2_100, 2_400)),
    AttemptFilter(codes=(500, 599)),
    AttemptFilter(pattern=EventPattern("issues.opened")),
    AttemptFilter(hook_ids=[1, 2, 3], codes=(0, 0), first=10),
    AttemptFilter(repo_ids=[1], org_ids=[2]),
    AttemptFilter(repo_ids=[1], hook_ids=[1], pattern=EventPattern("x"), before=2_000),
)


def test_lists_read_indexes(world: World, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost of a list does not grow with the number of deliveries and attempts."""
    monkeypatch.setattr(attempt_feed, "WINDOW", 50)
    hook_ids = [world.hook("push")["id"] for _ in range(3)]
    world.arrive("g-1")
    rows = [(at, hook_ids[at % 3], world.repo["id"], 1, at) for at in range(MANY)]
    received = [
        (f"g-{at}-x", 1, world.repo["id"], "issues", "opened", at, 2, b"", b"")
        for at in range(MANY)
    ]
    made = [
        (at, hook_ids[at % 3], at + 1, world.repo["id"], 1, 0, at, 5, 500 if at % 50 == 0 else 200,
         "https://a.example", "{}", "", "")
        for at in range(MANY)
    ]  # fmt: skip

    with transaction(world.store) as db:
        named = "guid, scope, repo_id, name, action, received_at, size, digest, body"
        db.insert_many("event", named, received)
        db.insert_many("delivery", "event_id, hook_id, repo_id, state, due_at", rows)
        columns = (
            "delivery_id, hook_id, event_id, repo_id, number, redelivery, started_at, duration,"
            " status_code, url, timings, request_head, response_body"
        )
        db.insert_many("attempt", columns, made)
        db.execute("ANALYZE")
    steps = world.store.write_sync(scans, read_lists)
    assert len(steps) > len(FILTERS)
    for step in steps:
        # Rows of these tables are read by an index, or by a range of ids. The table `event` is an
        # exception on PostgreSQL, which scans it if a query needs most of its rows.
        assert not re.search(r"Seq Scan on (delivery|attempt)\b", step), step
        assert not re.search(r"SCAN (x|a|d|e|delivery|attempt|event)\b(?!.*INDEX)", step), step


@embedded("the planner of PostgreSQL knows how many hooks there are")
@pytest.mark.parametrize(
    "find",
    [
        lambda db: hook_list.page(db, HookFilter(repo_ids=[1], org_ids=[2]), limit=50),
        lambda db: hook_list.count(db, HookFilter(repo_ids=[1], org_ids=[2])),
        lambda db: name_search.hooks(db, "example", [1], [2]),
        lambda db: name_search.hooks_of_host(db, "a.example", [1], [2]),
    ],
)
def test_the_hooks_of_others_are_not_read(world: World, find: Callable[[Connection], Any]) -> None:
    steps = world.store.write_sync(scans, find)
    assert [step for step in steps if re.search(r"(SCAN|SEARCH) h\b", step)] == [
        "SEARCH h USING INTEGER PRIMARY KEY (rowid=?)"
    ]


@embedded("the planner of PostgreSQL knows how many hooks there are")
def test_the_checks_of_hooks_read_no_healthy_hook(world: World) -> None:
    steps = world.store.write_sync(scans, hook_checks.to_open)
    read = [step for step in steps if re.search(r"(SCAN|SEARCH) [hyz]\b", step)]
    assert len(read) >= len(HOOK_RULES)
    assert [step for step in read if not re.search("INDEX hook_|rowid=", step)] == []


def read_lists(db: Connection) -> None:
    backlog.of_owners(db, [1])
    for filtered in FILTERS:
        attempt_feed.page(db, filtered, limit=50)
    attempt_feed.id_range(db, TimeRange(1_000, 2_000))
    problems.list_all(db, None)


def scans(db: Connection, call: Callable[[Connection], object]) -> list[str]:
    """Return the lines of the plans of what `call` reads that say how tables are read."""
    return [line for line in plan_lines(db, call) if re.search(r"(?i)\b(scan|search)\b", line)]


def test_the_events_of_a_token_are_found_by_an_index(world: World) -> None:
    def planned(db: Connection) -> list[str]:
        rows = [(f"g-{at}", 1, 1, 8, "push", db.now, 2, b"", b"{}") for at in range(20_000)]
        columns = "guid, scope, repo_id, token_id, name, received_at, size, digest, body"
        db.insert_many("event", columns, [("old", 1, 1, 7, *rows[0][4:]), *rows])
        db.execute("ANALYZE")
        return plan_lines(db, lambda db: event_queries.newest(db, limit=20, token_id=7))

    assert any("event_token" in line for line in world.store.write_sync(planned))
