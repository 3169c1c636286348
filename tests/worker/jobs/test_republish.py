"""Republication of the current state: each row once, in order, marked, despite interruptions."""

import asyncio
import itertools
import re
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from assertions import bodies, signature
from contract_checks import hold_event
from operations_world import World, make
from worker_harness import WorkerHarness

from hub import snapshots
from hub.operations import MODULES
from hub.settings import HubSettings
from hub.worker_events import WorkerEvents
from store import Connection, Row, Store, open_store
from store.artifacts import deployment_records, storage_records
from store.artifacts.artifacts import NamedArtifact
from store.artifacts.deployment_records import Deployment, DeploymentPlace
from store.artifacts.storage_records import Storage
from store.clock import DAY, SECOND, MovableClock
from store.delivery import events, outbox
from store.delivery.incoming import REPUBLISHED_SOURCE
from store.errors import Conflict, Missing
from store.hooks.event_names import WILDCARD
from store.imports import imports
from store.issues import issues, milestones
from store.jobs.runs import StaleRun
from store.projection import issue_comment_projection, projection_table
from store.registry import republish_runs
from store.registry.snapshot_table import SNAPSHOT_SOURCES
from store.repositories import interaction_limits, pull_request_caps, repositories, watching
from worker.job_table import JobContext, build_jobs
from worker.jobs.republish import publish_batch, republish, request_scheduled
from worker.settings import WorkerSettings

DIGEST = f"sha256:{'b' * 64}"
ALL = republish_runs.parse_pattern("*/*/events/*")


@pytest.fixture
async def world(store: Store) -> AsyncIterator[World]:
    """A store with at least one row of each kind that can be republished."""
    made = make(store)
    store.write_sync(_rest, made)
    yield made
    await store.close()


@pytest.fixture
def worker_events(settings: HubSettings) -> WorkerEvents:
    return WorkerEvents(settings)


def _rest(db: Connection, world: World) -> None:
    repo, reader = world.hello.repo, world.reader.account
    stated = projection_table.projected_events(db)
    milestones.put(db, repo, {"number": 7, "title": "dawn"}, stated)
    issues.put(db, repo, {"number": 77, "title": "A crack", "state": "open"}, stated)
    pull = {"number": world.hello.issue, "title": "It rings"}
    said = {"id": 31, "body": "Louder", "state": "approved", "user": {"login": "reader"}}
    payload = {"pull_request": pull, "review": {**said, "submitted_at": "2026-11-20T00:00:00Z"}}
    issue_comment_projection.reviewed(db, repo, payload, stated)
    issue_comment_projection.line_commented(
        db, repo, {"pull_request": pull, "comment": said | {"id": 32}}, stated
    )
    repositories.grant(db, repo["id"], reader["id"], "triage")
    pull_request_caps.put(db, "repository", repo["id"], enabled=True, most=7)
    pull_request_caps.add_bypass(db, repo["id"], {reader["id"]})
    interaction_limits.limit_repository(db, repo, "existing_users", db.now + DAY)
    _records(db, world)
    imports.start(db, repo["id"], reader["id"], "https://elsewhere.example/bell.git")
    db.execute("UPDATE source_import SET status = 'complete', due_at = NULL")


def _records(db: Connection, world: World) -> None:
    repo, org = world.acme.repo, world.acme.account
    what = Deployment(repo["id"], None, "bell", DIGEST, "1.0", "deployed", "bell-1", None, None)
    deployment_records.put(db, org["id"], DeploymentPlace("production"), [what])
    named = NamedArtifact((repo["id"], DIGEST), "bell", "1.0")
    storage_records.put(db, org["id"], named, Storage("https://registry.example"))


def published(store: Store) -> list[Row]:
    """The republished events, in order, each with its `payload`."""

    def read(db: Connection) -> list[Row]:
        ids = db.tuples(
            "SELECT id FROM event WHERE source_id = :again ORDER BY id", again=REPUBLISHED_SOURCE
        )
        rows = [events.get(db, event_id) for (event_id,) in ids]
        return [row | {"payload": orjson.loads(row["body"])} for row in rows if row is not None]

    return store.read_sync(read)


def ask(store: Store, topic: str = "*/*/events/*", **given: Any) -> Row:
    wanted = republish_runs.parse_pattern(topic)
    total = sum(store.read_sync(republish_runs.count, wanted, given.get("since")).values())
    given = {"rate": 10_000} | given
    return store.write_sync(lambda db: republish_runs.create(db, wanted, total, **given))


async def republished(
    store: Store,
    worker_events: WorkerEvents,
    topic: str,
    pace: Mapping[str, Any] | None = None,
    **given: Any,
) -> list[Row]:
    before = len(published(store))
    ask(store, topic, **given)
    await republish(store, worker_events.again, **(pace or {}))
    return published(store)[before:]


def test_every_kind_can_be_republished() -> None:
    of_groups = {name for one in MODULES for name in one.ops.states}
    assert {one.name for one in SNAPSHOT_SOURCES} == of_groups | snapshots.STATES.keys()
    assert not of_groups & snapshots.STATES.keys()


async def test_each_row_of_every_kind_is_republished_once(
    world: World, worker_events: WorkerEvents
) -> None:
    counts = world.store.read_sync(republish_runs.count, ALL, None)
    assert all(counts.values()), "each kind has at least one row"
    rows = await republished(world.store, worker_events, "*/*/events/*")
    assert len(rows) == sum(counts.values())
    kinds = [one.event for one in SNAPSHOT_SOURCES for _ in range(counts[one.name])]
    assert [row["name"] for row in rows] == kinds, "the kinds come in the order of their table"
    (run,) = world.store.read_sync(republish_runs.page, limit=9)
    assert (run["published"], run["total"], run["outcome"]) == (len(rows), len(rows), "done")
    for row in rows:
        payload = row["payload"]
        hold_event(row["name"], payload)
        assert payload["republished"] is True
        assert payload["sender"]["login"]
        assert payload["repository"]["id"] == row["repo_id"]
        assert payload.get("action") == row["action"]
    per_repo = [(kind, row["repo_id"]) for kind, row in zip(kinds, rows, strict=True)]
    groups = [list(some) for _, some in itertools.groupby(per_repo, key=lambda one: one[0])]
    assert all(group == sorted(group) or group[0][0] == "issues" for group in groups)


def test_the_manual_names_their_events() -> None:
    page = Path(__file__).parents[3] / "hub" / "docs" / "how-to" / "republish-state.md"
    text = page.read_text(encoding="utf-8")
    for one in SNAPSHOT_SOURCES:
        assert re.search(rf"`{one.event}(\.[a-z_]+)?`", text), one.event


async def test_the_current_state_is_republished(world: World, worker_events: WorkerEvents) -> None:
    repo = world.hello.repo
    (row,) = await republished(world.store, worker_events, "OCTO/hello/events/milestone")
    assert row["payload"]["milestone"]["title"] == "dawn"
    changed = {"number": 7, "title": "dusk"}
    world.store.write_sync(
        lambda db: milestones.put(db, repo, changed, projection_table.projected_events(db))
    )
    (row,) = await republished(
        world.store, worker_events, "https://hub.example/x/octo/hello/events/milestone"
    )
    assert row["payload"]["milestone"]["title"] == "dusk"
    world.store.write_sync(milestones.delete, repo["id"], 7)
    assert await republished(world.store, worker_events, "octo/hello/events/milestone") == []


async def test_a_republished_pull_request_has_its_fields_and_reviews(
    world: World, worker_events: WorkerEvents
) -> None:
    row, other = await republished(world.store, worker_events, "octo/hello/events/pull_request")
    pull = row["payload"]["pull_request"]
    assert (pull["merged"], other["payload"]["pull_request"]["merged"]) == (False, True)
    assert row["payload"]["number"] == pull["number"] == world.hello.issue
    assert {"head", "base", "merged", "draft", "labels", "user", "state", "url"} <= pull.keys()
    rows = await republished(world.store, worker_events, "octo/hello/events/pull_request_review")
    assert len(rows) == 2
    payload = rows[1]["payload"]
    assert (payload["review"]["state"], payload["sender"]["login"]) == ("approved", "reader")
    assert payload["pull_request"]["number"] == pull["number"]


async def test_a_republished_role_has_the_permission_that_older_receivers_know(
    world: World, worker_events: WorkerEvents
) -> None:
    rows = await republished(world.store, worker_events, "octo/hello/events/member")
    changes = {row["payload"]["member"]["login"]: row["payload"]["changes"] for row in rows}
    expected = {"permission": {"to": "read"}, "role_name": {"to": "triage"}}
    assert changes["reader"] == expected


async def test_a_republished_status_has_a_sender_if_its_creator_is_gone(
    world: World, worker_events: WorkerEvents
) -> None:
    world.store.write_sync(lambda db: db.execute("UPDATE commit_status SET creator_id = NULL"))
    rows = await republished(world.store, worker_events, "octo/hello/events/status")
    assert {row["payload"]["sender"]["login"] for row in rows} == {"octo"}


async def test_secrets_stay_secret(world: World, worker_events: WorkerEvents) -> None:
    for row in await republished(world.store, worker_events, "*/*/events/*"):
        assert b"s" * 40 not in row["body"]
        assert "encrypted_value" not in row["payload"].get("secret", {})


@pytest.mark.parametrize(
    ("topic", "wanted"),
    [
        ("*/*/events/repository", ["acme/tools", "octo/hello", "octo/vault", "umbra/kit"]),
        ("octo/*/events/repository", ["octo/hello", "octo/vault"]),
        ("*/h*o/events/repository.json", ["octo/hello"]),
        ("oct_/*/events/repository", []),
        ("*/%/events/repository", []),
    ],
)
async def test_events_are_republished_by_pattern(
    world: World, worker_events: WorkerEvents, topic: str, wanted: list[str]
) -> None:
    if "%" in topic:
        with pytest.raises(republish_runs.Invalid):
            republish_runs.parse_pattern(topic)
        return
    rows = await republished(world.store, worker_events, topic)
    assert sorted(row["payload"]["repository"]["full_name"] for row in rows) == wanted


async def test_since_selects_changed_rows_only(
    world: World, worker_events: WorkerEvents, clock: MovableClock
) -> None:
    clock.advance(2 * DAY / SECOND)
    repo = world.hello.repo
    changed = {"number": 7, "title": "dusk"}
    world.store.write_sync(
        lambda db: milestones.put(db, repo, changed, projection_table.projected_events(db))
    )
    since = clock.now() - DAY
    counts = world.store.read_sync(republish_runs.count, ALL, since)
    assert {name for name, many in counts.items() if many} == {"milestone", "collaborator"}
    rows = await republished(world.store, worker_events, "*/*/events/*", since=since)
    assert [row["name"] for row in rows] == ["milestone", "member"]


def _many(db: Connection, world: World, n: int) -> None:
    stated = projection_table.projected_events(db)
    for number in range(n):
        given = {"number": 1_000 + number, "title": f"{number}", "state": "open"}
        issues.put(db, world.hello.repo, given, stated)
        issues.put(db, world.vault.repo, given, stated)


async def test_unchanged_rows_are_skipped_in_batches(
    world: World, worker_events: WorkerEvents, clock: MovableClock
) -> None:
    world.store.write_sync(_many, world, 14)
    clock.advance(3600)
    since = clock.now()
    changed = [1_000, 1_001, 1_002, 1_003, 1_005, 1_009, 1_013]

    def change(db: Connection) -> None:
        for number in changed:
            given = {"number": number, "title": "changed"}
            issues.put(db, world.vault.repo, given, projection_table.projected_events(db))

    world.store.write_sync(change)
    rows = await republished(
        world.store, worker_events, "octo/*/events/issues", {"batch": 3}, since=since
    )
    assert [row["payload"]["issue"]["number"] for row in rows] == changed


@pytest.mark.parametrize("at", [1, 2, 4, 6])
async def test_cut_off_it_is_gone_on_with(
    world: World, worker_events: WorkerEvents, at: int
) -> None:
    """The next run publishes the rows whose events were not committed, and no row twice."""
    world.store.write_sync(_many, world, 20)
    ask(world.store, "octo/*/events/issues")
    steps = itertools.count(1)

    def dying(db: Connection, resource: str, repo_id: int, rows: Sequence[Row]) -> None:
        worker_events.again(db, resource, repo_id, rows)
        if next(steps) == at:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await republish(world.store, dying, batch=7)
    before = len(published(world.store))
    assert before < 40
    await republish(world.store, worker_events.again, batch=7)
    numbers = [
        (row["repo_id"], row["payload"]["issue"]["number"])
        for row in published(world.store)
        if row["action"] == "edited"
    ]
    assert numbers == sorted(set(numbers)), "each row once, in order"
    assert len(numbers) == 41, "20 issues of each repository, and the issue of the world"


async def test_two_workers_do_no_step_twice(world: World, worker_events: WorkerEvents) -> None:
    world.store.write_sync(_many, world, 20)
    run = ask(world.store, "octo/hello/events/issues")
    upcoming = world.store.read_sync(republish_runs.next_batch, run)
    assert upcoming is not None
    world.store.write_sync(publish_batch, run, upcoming, 5, worker_events.again)
    with pytest.raises(StaleRun):
        world.store.write_sync(publish_batch, run, upcoming, 5, worker_events.again)
    await republish(world.store, worker_events.again)
    numbers = [row["payload"]["issue"]["number"] for row in published(world.store)]
    assert len([n for n in numbers if n >= 1000]) == 20


async def test_a_change_waits_for_the_current_batch(
    world: World, worker_events: WorkerEvents, url: str, tmp_path: Path, clock: MovableClock
) -> None:
    """Without the wait, the last event about a row could have its former state."""
    other = open_store(url, data_dir=tmp_path, clock=clock)
    repo = world.hello.repo

    def change(db: Connection) -> None:
        milestones.put(
            db, repo, {"number": 7, "title": "dusk"}, projection_table.projected_events(db)
        )
        outbox.emit(db, "milestone", "edited", repo["id"], {"milestone": {"title": "dusk"}})

    def meanwhile(db: Connection, resource: str, repo_id: int, rows: Sequence[Row]) -> None:
        changing.start()
        changing.join(0.2)
        assert changing.is_alive(), "the change waits for the batch"
        worker_events.again(db, resource, repo_id, rows)

    changing = threading.Thread(target=other.write_sync, args=(change,))
    ask(world.store, "octo/hello/events/milestone")
    await republish(world.store, meanwhile)
    changing.join()
    titles = [body["milestone"]["title"] for body in bodies(world.store, "milestone")]
    assert titles == ["dawn", "dusk"]
    other.shut()


async def test_a_stopped_run_publishes_no_more(world: World, worker_events: WorkerEvents) -> None:
    run = ask(world.store)

    def stopped(db: Connection, resource: str, repo_id: int, rows: Sequence[Row]) -> None:
        worker_events.again(db, resource, repo_id, rows)
        if republish_runs.get(db, run["id"])["ended_at"] is None:
            republish_runs.cancel(db, run["id"])

    await republish(world.store, stopped)
    row = world.store.read_sync(republish_runs.get, run["id"])
    assert row["outcome"] == "stopped"
    assert len(published(world.store)) < row["total"]
    with pytest.raises(Conflict, match="is over"):
        world.store.write_sync(republish_runs.cancel, run["id"])


@pytest.mark.parametrize("error", [ValueError, Missing])
async def test_one_that_cannot_be_published_keeps_nothing_back(
    world: World,
    worker_events: WorkerEvents,
    caplog: pytest.LogCaptureFixture,
    error: type[Exception],
) -> None:
    def choking(db: Connection, resource: str, repo_id: int, rows: Sequence[Row]) -> None:
        if any(row.get("title") == "7" for row in rows):
            raise error("a secret of the payload")
        worker_events.again(db, resource, repo_id, rows)

    world.store.write_sync(_many, world, 12)
    run = ask(world.store, "octo/hello/events/issues")
    await republish(world.store, choking)
    titles = [row["payload"]["issue"]["title"] for row in published(world.store)]
    assert [title for title in titles if title.isdigit()] == [str(n) for n in range(12) if n != 7]
    row = world.store.read_sync(republish_runs.get, run["id"])
    assert (row["outcome"], row["published"]) == ("done", row["total"] - 1)
    assert f"a issue cannot be published: {error.__name__}" in caplog.text
    assert "a secret" not in caplog.text


async def test_no_faster_than_it_may(world: World, worker_events: WorkerEvents) -> None:
    world.store.write_sync(_many, world, 10)
    pauses: list[float] = []
    still = {"clock": lambda: 0.0, "sleep": _counting(pauses)}
    rows = await republished(world.store, worker_events, "octo/*/events/issues", still, rate=8)
    assert sum(pauses) == pytest.approx(len(rows) / 8)
    assert max(pauses) == 2 / 8, "the events are spread over the second"


def _counting(pauses: list[float]) -> Any:
    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    return sleep


async def test_the_schedule_starts_a_republication(
    world: World, worker_events: WorkerEvents, clock: MovableClock
) -> None:
    given = {"republish_at": "0 4 * * *", "republish_topics": ["octo/hello/events/label"]}
    settings = WorkerSettings.model_validate(given)
    works = JobContext(world.store, settings, worker_events, worker_events.again)
    jobs = {job.name: job for job in build_jobs(works)}
    assert jobs["republish-begin"].when.words == "0 4 * * *"
    await jobs["republish-begin"].run()
    await jobs["republish-begin"].run()
    (run,) = world.store.read_sync(republish_runs.page, limit=9)
    assert (run["scheduled"], run["rate"]) == (1, 100), "the schedule starts no second run"
    manual = ask(world.store, "octo/hello/events/repository")
    current_run = world.store.read_sync(republish_runs.RUNS.current)
    assert current_run is not None
    assert current_run["id"] == manual["id"], "a manual run goes before a scheduled one"
    await jobs["republish"].run()
    assert [row["name"] for row in published(world.store)] == ["repository", "label"]
    await request_scheduled(world.store, settings.republish_topics, 5)
    assert len(world.store.read_sync(republish_runs.page, limit=9)) == 3
    assert "republish-begin" not in {
        job.name for job in build_jobs(JobContext(world.store, WorkerSettings()))
    }


@pytest.mark.parametrize(
    "topic", ["octo/hello", "octo/hello/events/flood", "/events/x", "a b/c/events/*"]
)
def test_wrong_topics_are_refused(topic: str) -> None:
    with pytest.raises(ValueError, match=r"no topic|no event"):
        WorkerSettings(republish_topics=[topic])


async def test_retention_lets_go_of_runs(world: World, worker_events: WorkerEvents) -> None:
    await republished(world.store, worker_events, "octo/hello/events/label")
    ask(world.store)
    now = world.store.clock.now()
    assert world.store.write_sync(republish_runs.RUNS.forget, now) == 0
    assert world.store.write_sync(republish_runs.RUNS.forget, now + 1) == 1
    assert [row["outcome"] for row in world.store.read_sync(republish_runs.page, limit=9)] == [None]


async def test_hooks_get_republished_events_with_a_mark(
    harness: WorkerHarness, worker_events: WorkerEvents
) -> None:
    """A header and a member of the payload mark a republished event. Other events have neither."""
    all_of_it = harness.hook("https://all.example/", events=[WILDCARD], secret="hush")
    by_name = harness.hook("https://own.example/", events=["repository_subscription"])
    harness.store.write_sync(
        lambda db: watching.put(
            db, harness.repo["id"], harness.repo["owner_id"], subscribed=True, ignored=False
        )
    )
    await harness.work(publish=worker_events.again)
    await harness.event(b"{}", name="push")
    ask(harness.store, f"{harness.repo['full_name']}/events/*")
    # The first hook gets the push, and the republished events `repository` and `ping`. The second
    # hook gets `repository_subscription` and `ping`.
    await harness.recorded(all_of_it, 3)
    await harness.recorded(by_name, 2)
    found = {post.headers["x-github-event"]: post for post in harness.network.to("all.example")}
    assert found.keys() == {"push", "repository", "ping"}
    assert "x-hub-republished" not in found["push"].headers
    for name in ("repository", "ping"):
        assert found[name].headers["x-hub-republished"] == "true"
        assert orjson.loads(found[name].body)["republished"] is True
    signed = found["repository"]
    assert signed.headers["x-hub-signature-256"] == signature("hush", signed.body)
    names = [post.headers["x-github-event"] for post in harness.network.to("own.example")]
    assert sorted(names) == ["ping", "repository_subscription"]


async def test_the_mark_outlives_the_worker(
    harness: WorkerHarness, worker_events: WorkerEvents
) -> None:
    """The worker starts after the republication, so it reads the delivery from the store."""
    hook = harness.hook("https://all.example/", events=["repository"])
    ask(harness.store, "*/*/events/repository")
    await republish(harness.store, worker_events.again)
    await harness.work()
    await harness.recorded(hook, 1)
    (post,) = harness.network.to("all.example")
    assert post.headers["x-hub-republished"] == "true"
