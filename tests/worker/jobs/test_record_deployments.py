"""The job that records deployments: it continues after errors, and reports each one once."""

from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from typing import Any

import pytest
from assertions import bodies
from required import required

from hub.settings import HubSettings
from hub.worker_events import WorkerEvents
from store import Connection, Row, Store
from store.accounts import accounts
from store.artifacts import deployment_jobs
from store.artifacts.deployment_records import Deployment, DeploymentPlace
from store.clock import SECOND
from store.errors import Busy, Conflict, Unavailable
from store.repositories import repositories
from worker.jobs.record_deployments import FAILED, record_deployments

BATCH = 20
MANY = 2 * BATCH + 5


@pytest.fixture
async def kept(store: Store) -> AsyncIterator[Store]:
    """A store that has an organization with a repository."""

    def make(db: Connection) -> None:
        org = accounts.create(db, "acme", kind="Organization")
        repositories.create(db, org["id"], "tools")

    store.write_sync(make)
    yield store
    await store.close()


def ask(store: Store, count: int, cluster: str = "moon") -> int:
    """Create a job with `count` deployments in a cluster. Return its id."""

    def make(db: Connection) -> int:
        org = accounts.by_login(db, "acme")
        repo = repositories.find(db, "acme", "tools")
        assert org is not None
        assert repo is not None
        wanted = [
            Deployment(repo["id"], None, "x", "sha256:x", None, "deployed", f"d{each}", None, None)
            for each in range(count)
        ]
        place = DeploymentPlace("production", cluster=cluster)
        return deployment_jobs.create(db, org["id"], org["id"], place, wanted)

    return store.write_sync(make)


def job(store: Store, job_id: int) -> Row:
    org = store.read_sync(accounts.by_login, "acme")
    return required(store.read_sync(deployment_jobs.get, org["id"], job_id))


def count(store: Store, table: str) -> int:
    return store.read_sync(lambda db: db.value(f"SELECT count(*) FROM {table}"))


class Trouble:
    """An emitter of events that raises an error once, after the given batch."""

    def __init__(self, settings: HubSettings, batch: int, error: Exception) -> None:
        self._report = WorkerEvents(settings)
        self._left = batch
        self._error = error

    def __call__(self, db: Connection, event: str, rows: Sequence[Row]) -> None:
        self._report(db, event, rows)
        self._left -= 1
        if self._left == 0:
            raise self._error


async def test_cut_off_it_goes_on(kept: Store, settings: HubSettings) -> None:
    job_id = ask(kept, MANY)
    report = Trouble(settings, 2, Unavailable("the disk is full"))
    with pytest.raises(Unavailable):
        await record_deployments(kept, report, batch=BATCH)
    row = job(kept, job_id)
    assert (row["status"], row["total_count"]) == ("processing", BATCH)
    assert count(kept, "deployment_record") == count(kept, "event") == BATCH
    assert kept.read_sync(deployment_jobs.next_due) == row["created_at"]
    await record_deployments(kept, report, batch=BATCH)
    row = job(kept, job_id)
    assert (row["status"], row["total_count"], row["errors"]) == ("completed", MANY, [])
    assert count(kept, "deployment_record") == count(kept, "event") == MANY
    assert count(kept, "deployment_job_entry") == 0


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
@pytest.mark.parametrize("taken", [1, BATCH])
async def test_a_job_does_not_end_before_another_worker_s_batch(
    kept: Store, settings: HubSettings, taken: int
) -> None:
    job_id = ask(kept, BATCH)
    with closing(kept.engine.session()) as lost:
        # The other worker lost its claim. Its transaction is still open, and then fails.
        lost.begin(kept.clock.now(), write=True)
        took = "DELETE FROM deployment_job_entry WHERE position < :taken"
        assert lost.db.execute(took, taken=taken) == taken
        # It is not waited for, because deliveries would wait too.
        with pytest.raises(Busy):
            await record_deployments(kept, WorkerEvents(settings), batch=BATCH)
        assert job(kept, job_id)["status"] == "processing"
    await record_deployments(kept, WorkerEvents(settings), batch=BATCH)
    row = job(kept, job_id)
    assert (row["status"], row["total_count"]) == ("completed", BATCH)
    assert count(kept, "deployment_record") == BATCH
    assert count(kept, "deployment_job_entry") == 0


async def test_a_lasting_error_fails_the_job(
    kept: Store, settings: HubSettings, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = ask(kept, MANY), ask(kept, 1, "sun")
    await record_deployments(kept, Trouble(settings, 2, ValueError("a mistake")), batch=BATCH)
    row = job(kept, first)
    assert (row["status"], row["total_count"]) == ("failed", BATCH)
    assert row["errors"] == [{"message": FAILED}]
    assert count(kept, "deployment_job_entry") == 0
    assert f"the deployments of job {first} cannot be recorded" in caplog.text
    # The failed job delays neither the next job nor other jobs of its cluster.
    assert job(kept, second)["status"] == "completed"
    await record_deployments(kept, WorkerEvents(settings), batch=BATCH)
    assert job(kept, ask(kept, 1))["status"] == "pending"


async def test_a_worker_taken_for_dead_records_nothing_twice(
    kept: Store, settings: HubSettings
) -> None:
    """A worker cannot continue a job that another worker has taken over and ended."""
    job_id = ask(kept, MANY)
    begun = required(kept.write_sync(deployment_jobs.begin))
    await record_deployments(kept, WorkerEvents(settings), batch=BATCH)
    assert kept.write_sync(deployment_jobs.advance, begun, BATCH) is None
    assert job(kept, job_id)["total_count"] == MANY == count(kept, "event")


async def test_a_cluster_has_one_job_at_a_time(kept: Store) -> None:
    ask(kept, 1)
    with pytest.raises(Conflict, match="already in progress"):
        ask(kept, 1)
    assert count(kept, "deployment_job_entry") == 1


async def test_jobs_are_done_oldest_first(kept: Store, settings: HubSettings, clock: Any) -> None:
    ids = []
    for cluster in "abc":
        ids.append(ask(kept, 1, cluster))
        clock.advance(1)
    assert kept.read_sync(deployment_jobs.next_due) == clock.now() - 3 * SECOND
    await record_deployments(kept, WorkerEvents(settings), batch=BATCH)
    reported = bodies(kept, "deployment_record")
    assert [each["deployment_record"]["cluster"] for each in reported] == ["a", "b", "c"]
    assert {job(kept, job_id)["status"] for job_id in ids} == {"completed"}


async def test_ended_jobs_are_deleted(kept: Store, settings: HubSettings, clock: Any) -> None:
    ask(kept, 1, "a")
    await record_deployments(kept, WorkerEvents(settings), batch=BATCH)
    clock.advance(1)
    ask(kept, 1, "b")
    assert kept.write_sync(deployment_jobs.forget, clock.now()) == 1
    assert kept.write_sync(deployment_jobs.forget, clock.now() + SECOND) == 0
    assert count(kept, "deployment_job") == 1
