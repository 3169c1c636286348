"""Projection of events to stored state: each event once and in order, despite crashes."""

import asyncio
import json
import logging
from typing import Any

import pytest
from waiting import until
from worker_harness import WorkerHarness

from store import Connection, Row
from store.database.body_codec import compress
from store.delivery import events, outbox
from store.errors import Unavailable
from store.issues import issues
from store.projection import event_projection, projection_cursor, projection_table
from store.repositories import refs, repositories
from worker.jobs import projector as module
from worker.jobs.pauses import CROWD, MOST, Pacer
from worker.service import Worker
from worker.settings import WorkerSettings
from worker.tuning import Tuning


def issue(number: int, **more: Any) -> bytes:
    reported = {"number": number, "title": f"No. {number}", "state": "open", **more}
    return json.dumps({"action": "opened", "issue": reported, "sender": {"login": "bob"}}).encode()


def counting(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Count the event in the repository's row. Raise KeyError if the payload has `bad`."""
    if payload.get("bad"):
        raise KeyError("a secret of the payload")
    db.execute(
        "UPDATE repository SET size = size * 7 + :nth, forks = forks + 1 WHERE id = :id",
        nth=payload.get("nth", 0),
        id=repo["id"],
    )


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(projection_table.EVENTS, "push", (counting,))


def taken_up(harness: WorkerHarness) -> int:
    found: int = harness.store.read_sync(repositories.get, harness.repo["id"])["forks"]
    return found


def state(harness: WorkerHarness) -> Row:
    return harness.store.read_sync(projection_cursor.state)


async def done(harness: WorkerHarness) -> None:
    def caught_up() -> bool:
        now = state(harness)
        return bool(now["event_id"] == now["newest"])

    await until(caught_up, "all is taken up")


async def test_an_event_becomes_state_a_moment_after_it_came(harness: WorkerHarness) -> None:
    await harness.work()
    await harness.event(issue(7), "issues")
    await until(lambda: harness.store.read_sync(issues.get, harness.repo["id"], 7) is not None)


async def test_events_from_before_the_start_are_projected_first(harness: WorkerHarness) -> None:
    await harness.event(issue(1), "issues")
    await harness.event(issue(1, title="Later"), "issues")
    await harness.work()
    await done(harness)
    found = harness.store.read_sync(issues.get, harness.repo["id"], 1)
    assert found is not None
    assert found["title"] == "Later"


async def test_events_are_projected_in_order_and_once(harness: WorkerHarness) -> None:
    many = 2 * projection_cursor.MOST_EVENTS + 3
    for nth in range(4):
        await harness.event(b'{"nth": %d}' % (nth + 1))
    await harness.work()
    await done(harness)
    assert (
        harness.store.read_sync(repositories.get, harness.repo["id"])["size"]
        == 1 * 343 + 2 * 49 + 3 * 7 + 4
    )
    harness.store.write_sync(lambda db: db.execute("UPDATE repository SET size = 0"))
    await harness.events(many)
    await done(harness)
    assert taken_up(harness) == 4 + many


async def test_large_events_are_read_a_few_at_a_time(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection_cursor, "MOST_BYTES", 100)
    for _ in range(5):
        await harness.event(b'{"fill": "%s"}' % (b"x" * 60))
    ahead = harness.store.read_sync(projection_cursor.pending, None)
    assert len(ahead.events) == 1
    await harness.work()
    await done(harness)
    assert taken_up(harness) == 5


async def test_crashes_project_each_event_once(harness: WorkerHarness) -> None:
    harness.tuning = Tuning(projection_batch=1e-9)
    await harness.events(100)
    for _ in range(5):
        before = taken_up(harness)
        await harness.work()
        await until(lambda before=before: taken_up(harness) > before)  # type: ignore[misc]
        harness.crash()
    await harness.work()
    await done(harness)
    assert taken_up(harness) == 100


async def test_one_that_cannot_be_taken_up_is_passed_over(
    harness: WorkerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    for body in (b"{}", b'{"bad": 1}', b"{}", b"{}", b'{"bad": 2}', b"{}"):
        await harness.event(body)
    await harness.work()
    await done(harness)
    assert taken_up(harness) == 4
    assert state(harness)["skipped"] == 2
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert f"event 2 (push, repository {harness.repo['id']}) is left out" in said[0]
    assert "KeyError" in said[0]
    assert "secret" not in said[0]


async def test_one_that_cannot_even_be_prepared_is_passed_over(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(projection_table.PREPARED, "push", lambda payload: payload["missing"])
    for body in (b'{"missing": 1}', b"{}", b'{"missing": 1}'):
        await harness.event(body)
    await harness.work()
    await done(harness)
    assert taken_up(harness) == 2
    assert state(harness)["skipped"] == 1


async def test_nothing_is_lost_while_the_store_is_in_trouble(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    trouble = 3

    def troubled(*given: Any) -> int:
        nonlocal trouble
        trouble -= 1
        if trouble >= 0:
            raise Unavailable("not now")
        return real(*given)

    real = event_projection.advance
    monkeypatch.setattr(event_projection, "advance", troubled)
    worker = await harness.work()
    await harness.event()
    for _ in range(4):
        await until(lambda: worker.projector.idle)
        worker.projector.wake()
    await done(harness)
    assert taken_up(harness) == 1
    assert state(harness)["skipped"] == 0
    assert [record.getMessage() for record in caplog.records if "into state" in record.message] == [
        "turning events into state waits for the store: not now",
        "events are turned into state again",
    ]


async def test_changes_made_here_are_in_the_state_already(harness: WorkerHarness) -> None:
    await harness.store.write(outbox.emit, "push", None, harness.repo["id"], {})
    await harness.event()
    await harness.work()
    await done(harness)
    assert taken_up(harness) == 1


async def test_a_body_that_was_let_go_of_is_passed_over(harness: WorkerHarness) -> None:
    for body in (b"{}", b"{}", b"[]"):
        await harness.event(body)
    harness.store.write_sync(lambda db: db.execute("UPDATE event SET body = NULL WHERE id = 1"))
    await harness.work()
    await done(harness)
    assert taken_up(harness) == 1
    assert state(harness)["skipped"] == 0


async def test_events_that_retention_dropped_are_no_reason_to_wait(harness: WorkerHarness) -> None:
    await harness.events(5)
    harness.store.write_sync(lambda db: db.execute("DELETE FROM event WHERE id IN (1, 2, 4)"))
    await harness.work()
    await done(harness)
    assert taken_up(harness) == 2


async def test_a_setting_switches_the_projection_on(harness: WorkerHarness) -> None:
    worker = await harness.work(reflect=False)
    await harness.event()
    await worker.projector.tick()
    assert worker.projector.idle
    assert taken_up(harness) == 0
    worker.change(WorkerSettings(reflect=True))
    await done(harness)
    assert taken_up(harness) == 1


async def test_the_pacer_rests_longer_under_load() -> None:
    wall = processor = 0.0
    share = 0.0
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        nonlocal wall, processor
        wall += seconds
        processor += seconds * share
        slept.append(round(seconds, 1))

    pace = Pacer(lambda: wall, lambda: processor, sleep)
    for share in (0.0, 0.9, 0.9, 0.9, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 0.0, 0.0):  # noqa: B007
        await pace.rest(1.0)
    assert slept[:4] == [1.0, 1.0, 3.3, 9.5]
    assert slept[9] > 15
    assert max(slept) == MOST
    assert slept[11] < 4.1
    slept.clear()
    for waited in (0.0, 9.0, 9.0, 9.0, 9.0, 9.0):
        await pace.rest(1.0, waited)
    assert slept[0] < 2.5 < slept[3] < slept[5] <= 1 + CROWD


async def test_a_turn_is_short(harness: WorkerHarness) -> None:
    await harness.events(50)
    harness.store.write_sync(projection_cursor.claim, 1)
    ahead = harness.store.read_sync(projection_cursor.pending, None)
    items = event_projection.parsed(ahead.events)
    assert harness.store.write_sync(event_projection.advance, 0, items, ahead.upto, 1e-9) == 1
    assert state(harness)["event_id"] == 1


async def test_a_cursor_moves_for_one_only(harness: WorkerHarness) -> None:
    await harness.events(2)
    harness.store.write_sync(projection_cursor.claim, 1)
    ahead = harness.store.read_sync(projection_cursor.pending, None)
    items = event_projection.parsed(ahead.events)
    harness.store.write_sync(event_projection.advance, 0, items, ahead.upto)
    with pytest.raises(projection_cursor.CursorMoved):
        harness.store.write_sync(event_projection.advance, 0, items, ahead.upto)
    with pytest.raises(projection_cursor.CursorMoved):
        harness.store.write_sync(projection_cursor.skip, 0, 1)
    assert taken_up(harness) == 2


async def test_one_of_several_workers_projects_the_events(harness: WorkerHarness) -> None:
    if harness.store.engine.single_worker:
        pytest.skip("there is one worker at a time")
    await harness.work()
    other = harness.another_store()
    second = Worker(other, WorkerSettings(jitter=0), sender=harness.network)
    await second.start()
    try:
        await asyncio.gather(harness.events(200), harness.events(200, other))
        await done(harness)
        assert taken_up(harness) == 400
        holder = state(harness)["lease_id"]
        assert harness.worker is not None
        assert holder in (harness.worker.lease.lease_id, second.lease.lease_id)
    finally:
        await second.stop()
        await other.close()
    await harness.rest()
    await harness.work()
    await harness.event()
    await done(harness)
    assert state(harness)["lease_id"] != holder or taken_up(harness) == 401


async def test_an_event_of_a_late_transaction_is_not_skipped(
    harness: WorkerHarness,
) -> None:
    if harness.store.engine.single_worker:
        pytest.skip("there is one writer at a time")
    late = harness.store.engine.session()
    late.begin(harness.clock.now(), write=True)
    late.db.insert_many("event", events.INSERTED, [_row(harness, "late", b'{"nth": 1}')])
    await harness.event(b'{"nth": 2}')
    await harness.work()
    await asyncio.sleep(5 * module.GAP_POLL_SECONDS)
    assert taken_up(harness) == 0
    late.commit()
    late.close()
    await done(harness)
    assert taken_up(harness) == 2
    assert harness.store.read_sync(repositories.get, harness.repo["id"])["size"] == 1 * 7 + 2


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
async def test_an_event_whose_author_is_being_deleted_is_not_left_out(
    harness: WorkerHarness,
) -> None:
    author = {"login": "zoe", "id": 50}
    given = {"commit_id": "a" * 40, "body": "text", "user": author}

    async def comment(number: int) -> None:
        payload = {"action": "created", "comment": {"id": number, **given}}
        body = json.dumps(payload).encode()
        await harness.event(body, "commit_comment", action="created", source_id=1)

    await harness.work()
    await comment(1)
    await done(harness)
    session = harness.store.engine.session()
    session.begin(harness.clock.now(), write=True)
    session.db.execute("DELETE FROM account WHERE login_key = 'zoe'")
    await comment(2)
    await until(lambda: bool(harness.store.read_sync(_waiting)), "the event waits for the account")
    session.commit()
    session.close()
    await done(harness)
    assert state(harness)["skipped"] == 0
    found = harness.store.read_sync(lambda db: db.all("SELECT author_id FROM commit_comment"))
    assert [row["author_id"] is None for row in found] == [True, False]


def _waiting(db: Connection) -> int:
    found: int = db.value(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND wait_event_type = 'Lock'"
    )
    return found


async def test_an_id_of_a_rolled_back_event_is_skipped(harness: WorkerHarness) -> None:
    session = harness.store.engine.session()
    session.begin(harness.clock.now(), write=True)
    session.db.insert_many("event", events.INSERTED, [_row(harness, "undone", b"{}")])
    session.rollback()
    session.close()
    await harness.event()
    await harness.work()
    await done(harness)
    assert taken_up(harness) == 1


def _row(harness: WorkerHarness, guid: str, body: bytes) -> tuple[Any, ...]:
    repo_id = harness.repo["id"]
    given = (guid, repo_id, repo_id, 0, 0, None, "push", None, None, harness.clock.now(), len(body))
    return (*given, b"", compress(body), None, None)


async def test_a_branch_follows_its_pushes(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(projection_table.EVENTS, "push", (refs.pushed,))
    await harness.work()
    for after in ("a" * 40, "b" * 40):
        body = json.dumps({"ref": "refs/heads/main", "after": after}).encode()
        await harness.event(body)
    await done(harness)
    assert harness.store.read_sync(refs.resolve, harness.repo["id"], "main") == "b" * 40
