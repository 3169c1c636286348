"""Jobs of real workers run when they are due, continue after a `kill -9`, and run on command."""

import json
import signal

from daemon import Site, said, tocsin
from required import required
from waiting import until

from store import Connection, Row, Store
from store.clock import HOUR, SECOND
from store.delivery.incoming import REPUBLISHED_SOURCE
from store.jobs import jobs
from store.registry import republish_runs
from store.repositories import interaction_limits, repositories

MANY = 3_000
REPOSITORIES = 800


def limit_many(db: Connection) -> None:
    """Create repositories whose interaction limits expired an hour ago."""
    owner_id = db.value("SELECT owner_id FROM repository")
    for number in range(MANY):
        repo = repositories.create(db, owner_id, f"bell-{number}")
        interaction_limits.limit_repository(db, repo, "existing_users", db.now - HOUR)


def expired(db: Connection) -> list[tuple[int, int]]:
    """Return the repository and the time of each reported expiry."""
    rows = db.tuples(
        "SELECT repo_id, received_at FROM event WHERE name = 'interaction_limit' ORDER BY id"
    )
    return [(repo_id, at) for repo_id, at in rows]


def job(store: Store, name: str) -> Row:
    return required(store.read_sync(jobs.get, name))


async def test_killed_while_much_expires(site: Site) -> None:
    with site.opened() as store:
        store.write_sync(limit_many)
        worker = await site.serve("--only", "worker")
        await until(lambda: store.read_sync(expired), "the first reported expiry")
        await worker.kill()
        before = len(store.read_sync(expired))
        left = store.read_sync(lambda db: db.value("SELECT count(*) FROM interaction_limit"))
        assert before + left == MANY, "each limit is removed and reported, or neither"
        assert left, "the job was over at the kill"
        assert job(store, "expire")["ended_at"] is None
        worker = await site.serve("--only", "worker")
        await until(lambda: job(store, "expire")["outcome"] == "done", "the end of the job")
        found = [repo_id for repo_id, _ in store.read_sync(expired)]
        assert found == sorted(set(found)), "each once, in order"
        assert len(found) == MANY
        assert await worker.end() == 0


NEVER_POLLS = "worker.tuning.DEFAULTS = worker.tuning.Tuning(poll_interval=1e9)"


async def test_an_end_wakes_the_worker_of_another_process(site: Site) -> None:
    """Another process wakes the worker for an expiry that is earlier than the one it waits for.

    This worker never polls.
    """
    await site.serve("--only", "worker", patch=NEVER_POLLS)
    with site.opened() as store:
        repo = required(store.read_sync(repositories.find, "ada", "engine"))
        await until(lambda: store.read_sync(jobs.get, "expire"), "the worker's first look")
        for pause in (HOUR, SECOND):
            ends = store.clock.now() + pause
            store.write_sync(interaction_limits.limit_repository, repo, "existing_users", ends)
        await until(lambda: store.read_sync(expired), "the expiry")
        ((_, expired_at),) = store.read_sync(expired)
        assert expired_at >= ends


async def test_a_job_can_be_run_by_hand(site: Site) -> None:
    daemon = await site.serve()
    with site.opened() as store:
        output = await said(site.folder, "job", "run", "prune")
        assert output.startswith("prune: done in ")
        ran = job(store, "prune")
        assert f":{daemon.process.pid}/" in ran["holder"], "the daemon's worker has run the job"
        assert await daemon.end() == 0
        await said(site.folder, "job", "run", "prune")
        again = job(store, "prune")
        assert again["started_at"] > ran["started_at"]
        assert again["due_at"] == ran["due_at"], "the next regular run stays as it was"


def bells(db: Connection) -> None:
    owner_id = db.value("SELECT owner_id FROM repository")
    for number in range(REPOSITORIES):
        repositories.create(db, owner_id, f"bell-{number}")


def published(db: Connection) -> list[int]:
    """The repositories that were published again, in order."""
    rows = db.tuples(
        "SELECT repo_id FROM event WHERE source_id = :again ORDER BY id", again=REPUBLISHED_SOURCE
    )
    return [repo_id for (repo_id,) in rows]


async def test_killed_while_much_is_published_again(site: Site) -> None:
    """Neither Ctrl-C in the terminal nor a kill of the worker causes a gap or a repetition."""
    topic = ("--topic", "ada/bell-*/events/repository", "--rate", "400")
    with site.opened() as store:
        store.write_sync(bells)
        worker = await site.serve("--only", "worker")
        terminal = await tocsin(site.folder, "republish", *topic)
        await until(lambda: store.read_sync(published), "the first publication")
        terminal.send_signal(signal.SIGINT)
        assert await terminal.wait() == 1
        before = len(store.read_sync(published))
        await until(lambda: len(store.read_sync(published)) > before, "more publications")
        await worker.kill()
        assert len(store.read_sync(published)) < REPOSITORIES, "the run was over at the kill"
        worker = await site.serve("--only", "worker")
        said_at_last = json.loads(await said(site.folder, "republish", "follow", "1", "--json"))
        assert (said_at_last["outcome"], said_at_last["published"]) == ("done", REPOSITORIES)
        found = store.read_sync(published)
        assert found == sorted(set(found)), "each once, in order"
        assert len(found) == store.read_sync(republish_runs.get, 1)["total"] == REPOSITORIES
        assert await worker.end() == 0
        # Without a worker the command publishes itself. `follow` continues a run that was killed.
        alone = await tocsin(site.folder, "republish", *topic)
        await until(lambda: len(store.read_sync(published)) > REPOSITORIES, "the first publication")
        alone.kill()
        await alone.wait()
        assert len(store.read_sync(published)) < 2 * REPOSITORIES
        await said(site.folder, "republish", "follow", "2")
        found = store.read_sync(published)[REPOSITORIES:]
        assert found == sorted(set(found))
        assert len(found) == REPOSITORIES
