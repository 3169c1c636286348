"""Objects that expire: readers no longer see them, and one event reports each of them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from assertions import bodies
from waiting import until

from hub.settings import HubSettings
from hub.worker_events import WorkerEvents
from store import Connection, Row, Store, open_store
from store.accounts import accounts, authorizations, tokens
from store.clock import DAY, SECOND, MovableClock
from store.errors import Unavailable, Unusable
from store.hooks import hooks
from store.hooks.event_names import OWN
from store.registry import expiring
from store.repositories import interaction_limits, invitations, repositories
from worker.job_table import JobContext, build_jobs, refuse_emit
from worker.jobs.expire import expire, expire_batch
from worker.jobs.pauses import PAUSE
from worker.service import Worker
from worker.settings import WorkerSettings

NAMES = ("interaction_limit", "repository_invitation", "authorization")


@pytest.fixture
def worker_events(settings: HubSettings) -> WorkerEvents:
    return WorkerEvents(settings)


@pytest.fixture
async def open_one(store: Store) -> AsyncIterator[None]:
    """Close the store after the test."""
    yield
    await store.close()


@pytest.fixture
async def kept(store: Store, seed: Any) -> AsyncIterator[Store]:
    """A store with an interaction limit, an invitation and a token: they end in 1, 7 and 2 days."""
    store.write_sync(
        interaction_limits.limit_repository, seed.hello, "existing_users", after(store, DAY)
    )
    store.write_sync(
        invitations.invite, seed.hello["id"], seed.reader["id"], seed.octo["id"], "write"
    )
    store.write_sync(tokens.create, seed.octo["id"], note="ci", expires_at=after(store, 2 * DAY))
    yield store
    await store.close()


def after(store: Store, pause: int) -> int:
    return store.clock.now() + pause


def ended(store: Store) -> dict[str, int]:
    """The number of `expired` events, by name."""
    return {
        name: len([body for body in bodies(store, name) if body["action"] == "expired"])
        for name in NAMES
    }


def left(db: Connection) -> list[int]:
    names = ("interaction_limit", "repository_invitation", "token")
    return [db.value(f"SELECT count(*) FROM {name}") for name in names]


async def test_each_row_expires_at_its_time(
    kept: Store, clock: MovableClock, worker_events: WorkerEvents
) -> None:
    assert kept.read_sync(expiring.next_due) == after(kept, DAY)
    assert kept.read_sync(left) == [1, 1, 3]
    for days, expected in ((0.9, [0, 0, 0]), (0.1, [1, 0, 0]), (1, [1, 0, 1]), (5, [1, 1, 1])):
        clock.advance(days * 86_400)
        await expire(kept, worker_events)
        assert list(ended(kept).values()) == expected, days
    assert kept.read_sync(left) == [0, 0, 2]
    assert kept.read_sync(expiring.next_due) is None


async def test_every_reader_sees_it_gone_before_the_worker_comes(
    kept: Store, seed: Any, clock: MovableClock
) -> None:
    value, _ = kept.write_sync(tokens.create, seed.octo["id"], expires_at=after(kept, 7 * DAY))
    clock.advance(7 * 86_400)
    assert kept.read_sync(left) == [1, 1, 4]
    assert kept.read_sync(interaction_limits.in_force, seed.hello) is None
    side = invitations.of_repository(seed.hello["id"])
    assert kept.read_sync(invitations.page, side, limit=10, offset=0) == []
    assert kept.read_sync(invitations.count, side, 10) == 0
    assert kept.read_sync(invitations.open_to, seed.hello["id"], seed.reader["id"]) is None
    assert kept.read_sync(tokens.find, value) is None
    assert len(kept.read_sync(tokens.list_all)) == 2
    assert kept.read_sync(authorizations.count, seed.octo["id"]) == 1
    # Expired rows stay beside new ones, until their events are emitted.
    kept.write_sync(
        interaction_limits.limit_repository, seed.hello, "existing_users", after(kept, DAY)
    )
    kept.write_sync(invitations.invite, seed.hello["id"], seed.reader["id"], None, "read")
    assert kept.read_sync(left) == [2, 2, 4]


async def test_expired_things_emit_events(
    kept: Store, seed: Any, clock: MovableClock, worker_events: WorkerEvents
) -> None:
    store = kept
    for name in OWN["repository"].intersection(NAMES):
        store.write_sync(
            hooks.create, seed.hello["id"], url=f"https://r.example/{name}", events=[name]
        )
    organization = store.write_sync(accounts.create, "tower", kind="Organization")
    ends = after(store, DAY)
    store.write_sync(
        interaction_limits.limit_account, organization["id"], "collaborators_only", ends
    )
    store.write_sync(interaction_limits.limit_account, seed.reader["id"], "contributors_only", ends)
    clock.advance(8 * 86_400)
    await expire(store, worker_events)
    of_repo, of_org, of_user = bodies(store, "interaction_limit")
    assert of_repo.keys() == {"action", "interaction_limit", "repository"}
    assert of_repo["interaction_limit"] == {
        "limit": "existing_users",
        "origin": "repository",
        "expires_at": "2026-11-22T07:33:00Z",
    }
    assert of_repo["repository"]["full_name"] == "octo/hello"
    assert of_org["organization"]["login"] == "tower"
    assert of_org["interaction_limit"]["origin"] == "organization"
    assert of_user["user"]["login"] == "reader"
    (invitation,) = bodies(store, "repository_invitation")
    assert invitation["invitation"]["invitee"]["login"] == "reader"
    assert invitation["invitation"]["expired"] is True
    assert invitation["repository"]["full_name"] == "octo/hello"
    (authorization,) = bodies(store, "authorization")
    assert authorization["authorization"]["note"] == "ci"
    assert authorization["authorization"]["token"] == ""
    assert authorization["user"]["login"] == "octo"
    # Only events about a repository are delivered to its hooks.
    assert store.read_sync(lambda db: db.value("SELECT count(*) FROM delivery")) == 2


async def test_the_end_of_an_installation_s_token_is_not_published(
    store: Store, seed: Any, clock: MovableClock, worker_events: WorkerEvents, open_one: None
) -> None:
    ends = after(store, SECOND)
    for kind in ("installation", "fine_grained"):
        _, row = store.write_sync(tokens.create, seed.octo["id"], kind=kind, expires_at=ends)
    clock.advance(1)
    await expire(store, worker_events)
    (authorization,) = bodies(store, "authorization")
    assert authorization["authorization"]["id"] == row["id"]
    assert store.read_sync(expiring.next_due) is None


def limit_many(db: Connection, owner_id: int, many: int) -> None:
    for number in range(many):
        repo = repositories.create(db, owner_id, f"many-{number}")
        interaction_limits.limit_repository(db, repo, "existing_users", db.now + SECOND)


async def test_in_batches_each_with_its_events(
    store: Store,
    seed: Any,
    clock: MovableClock,
    worker_events: WorkerEvents,
    open_one: None,
) -> None:
    store.write_sync(limit_many, seed.octo["id"], 10)
    clock.advance(1)
    calls: list[int] = []

    def failing(db: Connection, event: str, rows: Sequence[Row]) -> None:
        calls.append(len(rows))
        if len(calls) == 3:
            raise Unavailable("disk full")
        worker_events(db, event, rows)

    with pytest.raises(Unavailable):
        await expire(store, failing, batch=4)
    assert calls == [4, 4, 2]
    assert store.read_sync(left)[0] == 2
    assert ended(store)["interaction_limit"] == 8
    await expire(store, worker_events)
    published = [each["repository"]["name"] for each in bodies(store, "interaction_limit")]
    assert published == [f"many-{number}" for number in range(10)]


async def test_without_an_emitter_nothing_expires(
    store: Store, seed: Any, clock: MovableClock
) -> None:
    store.write_sync(
        interaction_limits.limit_repository, seed.hello, "existing_users", after(store, 1)
    )
    clock.advance(1)
    with pytest.raises(Unusable, match=r"interaction_limit\.expired"):
        await expire(store, refuse_emit)
    assert store.read_sync(left)[0] == 1
    await store.close()


async def test_as_few_statements_for_many(
    store: Store,
    seed: Any,
    clock: MovableClock,
    worker_events: WorkerEvents,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from statement_log import statements

    counts = []
    for many in (1, 100):
        store.write_sync(limit_many, store.write_sync(accounts.create, f"owner-{many}")["id"], many)
        clock.advance(1)
        with monkeypatch.context() as patched:
            asked = statements(patched)
            rows = store.write_sync(expire_batch, expiring.EXPIRING[0], worker_events, many)
            counts.append(len(asked))
        assert rows == many
    # Rows are inserted in chunks of 64, 16, 4 and 1.
    assert counts[1] <= counts[0] + 8


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
async def test_once_by_several_workers(
    store: Store,
    seed: Any,
    clock: MovableClock,
    worker_events: WorkerEvents,
    url: str,
    tmp_path: Path,
) -> None:
    store.write_sync(limit_many, seed.octo["id"], 600)
    clock.advance(1)
    others = [open_store(url, data_dir=tmp_path, clock=clock) for _ in range(3)]
    await asyncio.gather(*(expire(each, worker_events) for each in [store, *others]))
    found = store.read_sync(lambda db: db.value("SELECT count(*) FROM event"))
    assert (found, store.read_sync(left)[0]) == (600, 0)
    for each in [store, *others]:
        await each.close()


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
async def test_rows_that_another_transaction_holds_wait_for_a_pause(
    kept: Store, clock: MovableClock, worker_events: WorkerEvents
) -> None:
    paused: list[float] = []

    async def sleep(seconds: float) -> None:
        paused.append(seconds)

    clock.advance(8 * 86_400)
    with closing(kept.engine.session()) as other:
        other.begin(clock.now(), write=True)
        other.db.execute("UPDATE repository_invitation SET role = 'read'")
        await expire(kept, worker_events, sleep=sleep)
    assert (list(ended(kept).values()), paused) == ([1, 0, 1], [PAUSE])
    await expire(kept, worker_events, sleep=sleep)
    assert (list(ended(kept).values()), paused) == ([1, 1, 1], [PAUSE])


async def test_rows_that_become_due_during_a_run_wait_for_no_pause(
    kept: Store, clock: MovableClock, worker_events: WorkerEvents
) -> None:
    paused: list[float] = []

    async def sleep(seconds: float) -> None:
        paused.append(seconds)

    def emit(db: Connection, event: str, rows: Sequence[Row]) -> None:
        worker_events(db, event, rows)
        if event == "authorization.expired":
            clock.advance(6 * 86_400)

    clock.advance(2 * 86_400)
    await expire(kept, emit, sleep=sleep)
    assert list(ended(kept).values()) == [1, 0, 1]
    assert (kept.read_sync(expiring.next_due) or 0) < kept.clock.now()
    assert paused == []


async def test_an_earlier_end_wakes_the_worker(tmp_path: Path, settings: HubSettings) -> None:
    """On the system clock, a timer starts the job when a limit ends, before the next poll."""
    store = open_store("sqlite", data_dir=tmp_path)
    worker = Worker(store, WorkerSettings(), emit=WorkerEvents(settings))
    try:
        await worker.start()
        owner = store.write_sync(accounts.create, "ada")
        repo = await store.write(repositories.create, owner["id"], "engine")
        late = [await lateness(store, repo, 1)]
        while late[-1] >= SECOND // 4 and len(late) < 5:
            # A busy machine may delay the job, so the shortest of several delays counts.
            late.append(await lateness(store, repo, len(late) + 1))
        assert 0 <= min(late) < SECOND // 4, late
    finally:
        await worker.stop()
        await store.close()


async def lateness(store: Store, repo: Row, nth: int) -> int:
    """Shorten a limit. Return the delay (microseconds) of its `expired` event, which is the nth."""
    for pause in (3600 * SECOND, SECOND // 3):
        limit = await store.write(
            interaction_limits.limit_repository, repo, "existing_users", after(store, pause)
        )
    await until(lambda: ended(store)["interaction_limit"] == nth)
    reported_at: int = store.read_sync(lambda db: db.value("SELECT max(received_at) FROM event"))
    return reported_at - int(limit["expires_at"])


def test_the_table_has_it(store: Store) -> None:
    assert "expire" in [job.name for job in build_jobs(JobContext(store, WorkerSettings()))]
