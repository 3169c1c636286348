"""Jobs that record the deployments of a cluster, from the request to the result."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from artifact_world import CLUSTER, RECORD, Acme, deployment, digest, posted, record, records
from assertions import assert_error, bodies

from hub.settings import HubSettings
from hub.worker_events import WorkerEvents
from store import Row, Store
from store.accounts import accounts
from store.artifacts import deployment_jobs
from store.clock import MovableClock
from store.jobs import jobs
from store.repositories import repositories
from worker.jobs.record_deployments import record_deployments

JOBS = f"{CLUSTER}/jobs"
BUSY = "A job is already in progress for this cluster"


@pytest.fixture
def work(store: Store, settings: HubSettings) -> Callable[[], Any]:
    """A function that runs the due jobs, as the worker does."""
    return lambda: record_deployments(store, WorkerEvents(settings))


def wanted(*deployments: Row, **given: Any) -> Row:
    return {"logical_environment": "production", "deployments": [*deployments]} | given


async def made(hub: httpx.AsyncClient, body: Row, **how: Any) -> Row:
    answer = await hub.post(JOBS, json=body, **how)
    assert answer.status_code == 202, answer.text
    return answer.json()


async def shown(hub: httpx.AsyncClient, job_id: int) -> Row:
    answer = await hub.get(f"{JOBS}/{job_id}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_deployment_job_records_its_deployments(
    hub: httpx.AsyncClient, store: Store, clock: MovableClock, work: Callable[[], Any]
) -> None:
    job = await made(hub, wanted(deployment("web"), deployment("api"), physical_environment="n"))
    assert job == {"job_id": job["job_id"], "errors": []}
    waiting = {"job_id": job["job_id"], "status": "pending", "total_count": 0, "errors": []}
    assert await shown(hub, job["job_id"]) == waiting
    assert await records(hub) == []
    assert store.read_sync(deployment_jobs.next_due) == store.clock.now()
    clock.advance(60)
    await work()
    assert await shown(hub, job["job_id"]) == waiting | {
        "status": "completed",
        "started_at": "2026-11-21T07:34:00Z",
        "total_count": 2,
    }
    assert store.read_sync(deployment_jobs.next_due) is None
    found = await records(hub)
    assert [each["deployment_name"] for each in found] == ["web", "api"]
    assert {(each["cluster"], each["physical_environment"]) for each in found} == {("moon", "n")}
    reported = bodies(store, "deployment_record")
    assert [each["action"] for each in reported] == ["created", "created"]
    assert {each["sender"]["login"] for each in reported} == {"octo"}
    assert reported[0]["repository"]["full_name"] == "acme/tools"
    assert reported[0].keys() == {
        "action",
        "deployment_record",
        "artifact",
        "repository",
        "organization",
        "sender",
    }


async def test_a_job_makes_the_same_records_as_a_request(
    hub: httpx.AsyncClient, store: Store, work: Callable[[], Any]
) -> None:
    entries = [deployment("web", tags={"a": "b"}), deployment("api", version="2", name="other")]
    await posted(hub, CLUSTER, wanted(*entries))
    before = await records(hub)
    await made(hub, wanted(*entries))
    await work()
    assert await records(hub) == before
    # The job changes no record, so it emits no event.
    assert len(bodies(store, "deployment_record")) == 2
    await made(hub, wanted(deployment("web", status="decommissioned")))
    await work()
    assert [each["status"] for each in await records(hub)] == ["decommissioned", "deployed"]
    assert bodies(store, "deployment_record")[-1]["action"] == "updated"


async def test_errors_of_a_job_are_for_its_account_and_for_owners(
    hub: httpx.AsyncClient, acme: Acme
) -> None:
    entry = deployment("web", github_repository="safe")
    job = await made(hub, wanted(entry), headers=acme.by("pusher"))
    assert job["errors"][0]["deployment"]["github_repository"] == "safe"
    at = f"{JOBS}/{job['job_id']}"
    for login, scope, many in (
        ("pusher", "repo", 1),
        ("octo", "repo", 1),
        ("octo", "public_repo", 0),
        ("plain", "repo", 0),
        ("plain", "public_repo", 0),
    ):
        answer = await hub.get(at, headers=acme.by(login, scope))
        assert len(answer.json()["errors"]) == many, (login, scope)


async def test_a_cluster_has_one_job_at_a_time(
    hub: httpx.AsyncClient, store: Store, acme: Acme, work: Callable[[], Any]
) -> None:
    await made(hub, wanted(deployment()))
    assert_error(await hub.post(JOBS, json=wanted(deployment("api"))), 409, BUSY)
    other = f"{RECORD}/cluster/sun/jobs"
    assert (await hub.post(other, json=wanted(deployment()))).status_code == 202
    store.write_sync(deployment_jobs.begin)
    # The cluster accepts no other job while this job is in progress.
    assert_error(await hub.post(JOBS, json=wanted(deployment("api"))), 409, BUSY)
    await work()
    assert len(await records(hub)) == 2
    await made(hub, wanted(deployment("api")))


async def test_a_job_with_nothing_to_record_keeps_no_other_one_back(
    hub: httpx.AsyncClient, store: Store, acme: Acme
) -> None:
    acme.people["reader"] = store.write_sync(accounts.create, "reader")["id"]
    store.write_sync(repositories.grant, acme.tools["id"], acme.people["reader"], "read")
    for entries in ([], [deployment()]):
        job = await made(hub, wanted(*entries), headers=acme.by("reader"))
        assert len(job["errors"]) == len(entries)
        assert (await shown(hub, job["job_id"]))["status"] == "completed"
    own = await made(hub, wanted(deployment()))
    # This collaborator is no member, and sees no job of others.
    for job_id, status in ((job["job_id"], 200), (own["job_id"], 404)):
        answer = await hub.get(f"{JOBS}/{job_id}", headers=acme.by("reader"))
        assert answer.status_code == status
    answer = await hub.get(f"{JOBS}/{own['job_id']}", headers=acme.by("plain"))
    assert answer.status_code == 200


async def test_the_first_answer_lists_rejected_deployments(
    hub: httpx.AsyncClient, acme: Acme, work: Callable[[], Any]
) -> None:
    unknown = deployment("api", github_repository="nothing")
    forbidden = deployment("db", github_repository="bells")
    pusher = acme.by("pusher")
    job = await made(hub, wanted(unknown, deployment(), forbidden), headers=pusher)
    causes = [(each["cause"], each["deployment"]["deployment_name"]) for each in job["errors"]]
    assert causes == [("not_found", "api"), ("unauthorized", "db")]
    await work()
    done = await shown(hub, job["job_id"])
    assert (done["status"], done["total_count"], done["errors"]) == ("completed", 1, job["errors"])


async def test_a_job_with_rejected_deployments_only_completes(
    hub: httpx.AsyncClient, work: Callable[[], Any]
) -> None:
    job = await made(hub, wanted(deployment(github_repository="nothing")))
    await work()
    done = await shown(hub, job["job_id"])
    assert (done["status"], done["total_count"], len(done["errors"])) == ("completed", 0, 1)


async def test_a_repository_removed_meanwhile_is_reported(
    hub: httpx.AsyncClient, store: Store, acme: Acme, work: Callable[[], Any]
) -> None:
    job = await made(hub, wanted(deployment(), deployment("api", github_repository="bells")))
    store.write_sync(
        lambda db: db.execute("DELETE FROM repository WHERE id = :id", id=acme.tools["id"])
    )
    await work()
    done = await shown(hub, job["job_id"])
    assert (done["status"], done["total_count"]) == ("completed", 1)
    (error,) = done["errors"]
    assert (error["cause"], error["deployment"]["deployment_name"]) == ("not_found", "web")


async def test_a_record_that_another_repository_got_meanwhile_is_not_replaced(
    hub: httpx.AsyncClient, work: Callable[[], Any]
) -> None:
    """The account of a job might not see the other repository."""
    await posted(hub, RECORD, record("db", github_repository="safe", cluster="moon"))
    job = await made(hub, wanted(deployment("web"), deployment("api"), deployment("db")))
    await posted(hub, RECORD, record("web", github_repository="safe", cluster="moon"))
    await posted(hub, RECORD, record("api", cluster="moon"))
    before = {one["deployment_name"]: one for one in await records(hub)}
    await work()
    done = await shown(hub, job["job_id"])
    # The record of `db` was there at the request, so that the account could see it.
    assert (done["status"], done["total_count"]) == ("completed", 2)
    (error,) = done["errors"]
    assert (error["cause"], error["deployment"]["deployment_name"]) == ("unauthorized", "web")
    after = {one["deployment_name"]: one for one in await records(hub)}
    assert after["web"] == before["web"]


async def test_invalid_deployment_jobs_are_rejected(hub: httpx.AsyncClient) -> None:
    for bad in (
        wanted(deployment(digest="x")),
        wanted(deployment(status="gone")),
        wanted(deployment(), logical_environment=""),
        wanted(deployment(), deployment()),
        {"deployments": []},
        wanted() | {"deployments": None},
        wanted(*(deployment(f"web-{each}") for each in range(5_001))),
    ):
        assert_error(await hub.post(JOBS, json=bad), 422)
    for cluster in ("a b", "x" * 129):
        path = f"{RECORD}/cluster/{cluster}/jobs"
        assert_error(await hub.post(path, json=wanted(deployment())), 422, code="invalid")


async def test_a_job_is_its_organizations_and_clusters(
    hub: httpx.AsyncClient, store: Store, acme: Acme
) -> None:
    job = await made(hub, wanted(deployment()))
    assert_error(await hub.get(f"{RECORD}/cluster/sun/jobs/{job['job_id']}"), 404)
    assert_error(await hub.get(f"{JOBS}/{job['job_id'] + 1}"), 404)
    assert store.read_sync(deployment_jobs.get, acme.org["id"] + 1, job["job_id"]) is None


async def test_the_worker_is_woken(
    hub: httpx.AsyncClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[int] = []
    monkeypatch.setattr(store.notifier, "wake", woken.extend)
    await made(hub, wanted(deployment()))
    assert jobs.JOBS_WAKEUP in woken


async def test_as_many_as_there_may_be(
    hub: httpx.AsyncClient, store: Store, work: Callable[[], Any]
) -> None:
    tags = dict.fromkeys(map(str, range(20)), "x")
    many = [
        deployment(f"web-{each}", digest=digest(f"{each % 10}"), tags=tags) for each in range(5_000)
    ]
    job = await made(hub, wanted(*many))
    # Each record publishes its own event. This test leaves the events out.
    await record_deployments(store, lambda db, event, rows: None)
    done = await shown(hub, job["job_id"])
    assert (done["status"], done["total_count"]) == ("completed", 5_000)


async def test_records_of_both_kinds(hub: httpx.AsyncClient, work: Callable[[], Any]) -> None:
    await posted(hub, RECORD, record(cluster="moon"))
    await made(hub, wanted(deployment()))
    await work()
    # Place and name of the deployment are equal, so the job updates the existing record.
    assert len(await records(hub)) == 1
