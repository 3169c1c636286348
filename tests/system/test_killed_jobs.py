"""After `kill -9`, the next worker continues a deployment job and reports each record once."""

from typing import Any

from daemon import Site
from required import required
from waiting import until

from store import Row, Store
from store.accounts import accounts, organizations
from store.artifacts import deployment_jobs
from store.artifacts.deployment_records import Deployment, DeploymentPlace
from store.repositories import repositories

MANY = 4_000


def ask(db: Any) -> int:
    """Create a job with MANY deployments. Return its id."""
    org = accounts.create(db, "acme", kind="Organization")
    repo = repositories.create(db, org["id"], "tools")
    wanted = [
        Deployment(repo["id"], None, "bell", f"sha256:{each:064x}", None, "deployed", f"d{each}",
                   None, None)
        for each in range(MANY)
    ]  # fmt: skip
    return deployment_jobs.create(
        db, org["id"], org["id"], DeploymentPlace("all", cluster="moon"), wanted
    )


def job(store: Store, job_id: int) -> Row:
    org = required(store.read_sync(organizations.by_login, "acme"))
    return required(store.read_sync(deployment_jobs.get, org["id"], job_id))


def count(store: Store, table: str) -> int:
    return int(store.read_sync(lambda db: db.value(f"SELECT count(*) FROM {table}")))


async def test_a_job_that_is_killed_is_done_all_the_same(site: Site) -> None:
    with site.opened() as store:
        job_id = store.write_sync(ask)
        for killed_at in (1, MANY // 2):
            worker = await site.serve("--only", "worker")
            await until(lambda least=killed_at: job(store, job_id)["total_count"] >= least, "some")
            await worker.kill()
            row = job(store, job_id)
            assert row["status"] == "processing", "the job was over at the kill"
            # Each recorded deployment has an event, and is no longer waiting in the job.
            assert count(store, "deployment_record") == count(store, "event") == row["total_count"]
            assert count(store, "deployment_job_entry") == MANY - row["total_count"]
        worker = await site.serve("--only", "worker")
        await until(lambda: job(store, job_id)["status"] == "completed", "the end of the job")
        assert await worker.end() == 0
        assert job(store, job_id)["total_count"] == MANY
        assert count(store, "deployment_record") == count(store, "event") == MANY
    assert site.integrity() == "ok"
