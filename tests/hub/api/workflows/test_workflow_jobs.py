"""Jobs of workflow runs that events reported."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error
from issue_world import Platform

ACTIONS = "/repos/octo/hello/actions"
SHA = "3484a3fb816e0859fd6e1cea078d76385ff50625"
STEP = {
    "name": "Set up job",
    "status": "completed",
    "conclusion": "success",
    "number": 1,
    "started_at": "2026-11-01T10:00:01.000Z",
    "completed_at": "2026-11-01T10:00:02.000Z",
}


def job(number: int = 5, **changed: Any) -> dict[str, Any]:
    """A job, as a platform reports it."""
    given = {
        "id": number,
        "run_id": 1,
        "run_attempt": 1,
        "workflow_name": "Build",
        "name": "lint",
        "status": "completed",
        "conclusion": "failure",
        "head_sha": SHA,
        "head_branch": "main",
        "created_at": "2026-11-01T09:59:00Z",
        "started_at": "2026-11-01T10:00:00Z",
        "completed_at": "2026-11-01T10:01:00Z",
        "steps": [STEP],
        "labels": ["gpu", "linux"],
        "runner_id": 5,
        "runner_name": "ringer",
        "runner_group_id": 2,
        "runner_group_name": "tower",
    }
    return given | changed


async def listed(hub: httpx.AsyncClient, query: str = "") -> list[int]:
    content = (await hub.get(f"{ACTIONS}/runs/1/jobs?{query}")).json()
    assert content["total_count"] == len(content["jobs"])
    return [one["id"] for one in content["jobs"]]


async def test_a_job_is_shown_with_its_steps(hub: httpx.AsyncClient, platform: Platform) -> None:
    platform.report("workflow_job", "completed", workflow_job=job())
    shown = (await hub.get(f"{ACTIONS}/jobs/5")).json()
    assert shown == {
        **job(),
        "node_id": shown["node_id"],
        "run_url": f"{BASE}{ACTIONS}/runs/1",
        "url": f"{BASE}{ACTIONS}/jobs/5",
        "html_url": shown["html_url"],
        "check_run_url": "",
        "steps": [
            STEP | {"started_at": "2026-11-01T10:00:01Z", "completed_at": "2026-11-01T10:00:02Z"}
        ],
    }
    assert shown["html_url"].endswith("/octo/hello/actions/runs/1/job/5")
    jobs = (await hub.get(f"{ACTIONS}/runs/1/jobs")).json()
    assert jobs == {"total_count": 1, "jobs": [shown]}
    run = (await hub.get(f"{ACTIONS}/runs/1")).json()
    assert run["jobs_url"] == f"{BASE}{ACTIONS}/runs/1/jobs"


async def test_a_job_leads_to_its_check_run(hub: httpx.AsyncClient, platform: Platform) -> None:
    platform.report("workflow_job", "completed", workflow_job=job())
    suite = {"id": 55, "head_sha": SHA}
    check = {"id": 5, "name": "lint", "head_sha": SHA, "status": "queued", "check_suite": suite}
    platform.report("check_run", "created", check_run=check)
    shown = (await hub.get(f"{ACTIONS}/jobs/5")).json()
    assert shown["check_run_url"] == f"{BASE}/repos/octo/hello/check-runs/5"
    assert (await hub.get(shown["check_run_url"])).json()["id"] == 5


async def test_unknown_members_of_a_job_are_null_or_empty(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    platform.report("workflow_job", "queued", workflow_job={"id": 5, "run_id": 1})
    shown = (await hub.get(f"{ACTIONS}/jobs/5")).json()
    assert shown["started_at"] == shown["created_at"]
    assert (shown["name"], shown["head_sha"], shown["steps"], shown["labels"]) == ("", "", [], [])
    absent = ("conclusion", "completed_at", "runner_id", "runner_name", "runner_group_id")
    assert {shown[name] for name in (*absent, "runner_group_name", "workflow_name")} == {None}


async def test_a_run_without_a_commit_gets_the_one_of_its_job(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    """State documents name no commits."""
    platform.report("workflow_run", "requested", workflow_run={"id": 1, "name": "Build"})
    platform.report("workflow_job", "queued", workflow_job=job(head_sha="", head_branch=None))
    platform.report("workflow_job", "queued", workflow_job=job())
    platform.report("workflow_job", "queued", workflow_job=job(6, head_sha="c0ffee"))
    shown = (await hub.get(f"{ACTIONS}/jobs/6")).json()
    assert (shown["head_sha"], shown["head_branch"]) == (SHA, "main")
    assert (await hub.get(f"{ACTIONS}/runs/1")).json()["head_sha"] == SHA


async def test_an_older_event_changes_no_job(hub: httpx.AsyncClient, platform: Platform) -> None:
    platform.report("workflow_job", "completed", workflow_job=job())
    shown = (await hub.get(f"{ACTIONS}/jobs/5")).json()
    late = job(status="in_progress", conclusion=None, completed_at=None, steps=[])
    platform.report("workflow_job", "in_progress", workflow_job=late)
    assert (await hub.get(f"{ACTIONS}/jobs/5")).json() == shown


async def test_a_later_event_keeps_members_that_it_does_not_have(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    platform.report("workflow_job", "in_progress", workflow_job=job(status="in_progress"))
    later = {"id": 5, "run_id": 1, "status": "completed", "conclusion": "success"}
    platform.report("workflow_job", "completed", workflow_job=later)
    shown = (await hub.get(f"{ACTIONS}/jobs/5")).json()
    assert (shown["conclusion"], shown["runner_name"]) == ("success", "ringer")
    assert len(shown["steps"]) == 1


async def test_jobs_of_the_latest_attempt_are_listed(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    for given in (job(7), job(6), job(8, run_attempt=2), job(9, run_id=2)):
        platform.report("workflow_job", "completed", workflow_job=given)
    assert await listed(hub) == await listed(hub, "filter=latest") == [8]
    assert await listed(hub, "filter=all") == [6, 7, 8]
    content = (await hub.get(f"{ACTIONS}/runs/1/jobs?filter=all&per_page=1&page=2")).json()
    assert (content["total_count"], [one["id"] for one in content["jobs"]]) == (3, [7])
    assert_error(await hub.get(f"{ACTIONS}/runs/1/jobs?filter=first"), 422)
    for attempt, numbers in ((1, [6, 7]), (2, [8])):
        content = (await hub.get(f"{ACTIONS}/runs/1/attempts/{attempt}/jobs")).json()
        assert (content["total_count"], [one["id"] for one in content["jobs"]]) == (
            len(numbers),
            numbers,
        )
    assert_error(await hub.get(f"{ACTIONS}/runs/1/attempts/3/jobs"), 404)


async def test_a_new_attempt_may_have_the_same_job(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    """Some platforms keep the ids of jobs that run again."""
    platform.report("workflow_job", "completed", workflow_job=job())
    again = {"id": 5, "run_id": 1, "run_attempt": 2, "status": "queued"}
    platform.report("workflow_job", "queued", workflow_job=again)
    shown = (await hub.get(f"{ACTIONS}/jobs/5")).json()
    assert (shown["run_attempt"], shown["status"], shown["conclusion"]) == (2, "queued", None)
    assert (shown["steps"], shown["runner_name"], shown["completed_at"]) == ([], None, None)
    platform.report("workflow_job", "completed", workflow_job=job())
    assert (await hub.get(f"{ACTIONS}/jobs/5")).json() == shown
    assert await listed(hub) == [5]


@pytest.mark.parametrize("attempt", [0, -1, None, "2", True, 2**63])
async def test_a_malformed_attempt_is_the_first(
    hub: httpx.AsyncClient, platform: Platform, attempt: Any
) -> None:
    run = {"id": 1, "name": "Build", "status": "completed", "run_attempt": attempt}
    platform.report("workflow_run", "completed", workflow_run=run)
    platform.report("workflow_job", "completed", workflow_job=job(run_attempt=attempt))
    assert await listed(hub) == [5]
    shown = (await hub.get(f"{ACTIONS}/runs/1")).json()
    assert (shown["run_attempt"], shown["status"]) == (1, "completed")


async def test_a_job_of_another_repository_is_not_found(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    platform.report("workflow_job", "completed", workflow_job=job())
    for path in ("/repos/octo/vault/actions/jobs/5", f"{ACTIONS}/jobs/6", f"{ACTIONS}/runs/2/jobs"):
        assert_error(await hub.get(path), 404)


@pytest.mark.parametrize(
    ("steps", "names"),
    [
        ([STEP, {"name": "No number"}, "text", STEP | {"status": 3}], ["Set up job"]),
        ([STEP | {"number": at} for at in range(1_500)], ["Set up job"] * 300),
        ({"name": "no list"}, []),
    ],
)
async def test_steps_that_are_malformed_or_too_many_are_left_out(
    hub: httpx.AsyncClient, platform: Platform, steps: Any, names: list[str]
) -> None:
    platform.report("workflow_job", "completed", workflow_job=job(steps=steps))
    shown = (await hub.get(f"{ACTIONS}/jobs/5")).json()
    assert [one["name"] for one in shown["steps"]] == names


async def test_a_page_of_jobs_has_some_megabytes(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    long = "\N{BELL}" * 1_000
    steps, labels = [STEP | {"name": long, "number": at} for at in range(1_000)], [long] * 100
    names = dict.fromkeys(("runner_name", "runner_group_name"), long)
    platform.report(
        "workflow_job", "completed", workflow_job=job(steps=steps, labels=labels, **names)
    )
    (shown,) = (await hub.get(f"{ACTIONS}/runs/1/jobs")).json()["jobs"]
    assert {len(one["name"]) for one in shown["steps"]} == {255}
    assert shown["labels"]
    size = len((await hub.get(f"{ACTIONS}/runs/1/jobs")).content)
    assert 100 * size < 8_000_000


async def test_labels_are_at_most_a_hundred_texts(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    labels = ["gpu", 3, "", "x" * 300, *map(str, range(200))]
    platform.report("workflow_job", "completed", workflow_job=job(labels=labels))
    shown = (await hub.get(f"{ACTIONS}/jobs/5")).json()["labels"]
    assert shown == ["gpu", "x" * 255, *map(str, range(96))]
