"""The stored counts of runs by workflow equal the numbers of rows after any event."""

import random

from platform_events import report
from store_world import World

from store.clock import SECOND, iso
from store.delivery import sources
from store.repositories import repository_removal
from store.workflows import run_counts, run_queries
from store.workflows.run_queries import RunFilter

WORKFLOWS = (7, 8)


def project(world: World, chance: random.Random) -> None:
    """Project an event of a run or a job. Some do not name the workflow, and some are late."""
    number, moment = chance.randint(1, 9), world.now + chance.randint(-9, 9) * SECOND
    if chance.random() < 0.3:
        job = {"id": 100 + number, "run_id": number, "status": "queued", "created_at": iso(moment)}
        report(world.store, world.repo, "workflow_job.queued", source_id=0, workflow_job=job)
        return
    run = {"id": number, "status": "queued", "run_attempt": 1, "updated_at": iso(moment)}
    named = {"workflow_id": chance.choice(WORKFLOWS)} if chance.random() < 0.8 else {}
    source_id = chance.choice((0, sources.OPERATOR))
    event = {"source_id": source_id, "workflow_run": run | named}
    report(world.store, world.repo, "workflow_run.requested", **event)


def assert_counted(world: World) -> None:
    for workflow in (None, 0, *WORKFLOWS):
        chosen = RunFilter(workflow_number=workflow)
        found = world.store.read_sync(
            run_queries.page, world.repo["id"], chosen, limit=99, offset=0
        )
        counted = world.store.read_sync(run_queries.count, world.repo["id"], chosen)
        assert counted == len(found)


def test_runs_are_counted_by_workflow(world: World) -> None:
    chance = random.Random(11)
    for _ in range(40):
        project(world, chance)
        assert_counted(world)
    of_first = RunFilter(workflow_number=WORKFLOWS[0], status="queued")
    assert world.store.read_sync(run_queries.count, world.repo["id"], of_first) > 0


def test_the_counts_go_with_the_repository(world: World) -> None:
    project(world, random.Random(1))
    world.store.write_sync(repository_removal.remove, world.repo)
    assert world.store.read_sync(run_counts.total, world.repo["id"], None) == 0
