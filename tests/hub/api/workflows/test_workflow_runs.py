"""Workflow runs that events of a platform reported."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error
from issue_world import SHA, Platform

from store import Store
from store.clock import iso
from store.repositories import repositories

RUNS = "/repos/octo/hello/actions/runs"


def run(number: int = 1, **changed: Any) -> dict[str, Any]:
    """A workflow run, as a platform reports it."""
    given = {
        "id": number,
        "name": "Build",
        "head_branch": "main",
        "head_sha": SHA,
        "path": ".forge/workflows/build.yml",
        "display_title": "Ring louder",
        "run_number": 30 + number,
        "run_attempt": 2,
        "event": "push",
        "status": "completed",
        "conclusion": "success",
        "workflow_id": 77,
        "check_suite_id": 55,
        "created_at": f"2026-11-{number:02}T10:00:00Z",
        "updated_at": f"2026-11-{number:02}T10:05:00Z",
        "run_started_at": f"2026-11-{number:02}T10:01:00Z",
        "actor": {"login": "robin"},
        "triggering_actor": {"login": "octo"},
        "head_repository": {"full_name": "octo/hello"},
        "head_commit": {
            "id": SHA,
            "tree_id": "f" * 40,
            "message": "Ring",
            "timestamp": "2026-11-01T09:00:00Z",
            "author": {"name": "Robin", "email": "robin@tower.example"},
            "committer": None,
        },
        "pull_requests": [],
        "referenced_workflows": [{"path": "tower/flows/ring.yml", "sha": SHA, "ref": "main"}],
    }
    return given | changed


async def test_a_page_of_runs_has_some_megabytes(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    long = "\N{BELL}" * 1_000
    end = {"ref": long, "sha": "a" * 40}
    run = {
        "id": 1,
        "referenced_workflows": [{"path": long, "sha": "a" * 40, "ref": long}] * 100,
        "pull_requests": [{"id": 1, "number": 2, "head": end, "base": end}] * 100,
        "head_commit": {"id": SHA, "tree_id": SHA, "message": 50 * long, "timestamp": 0},
    }
    platform.report("workflow_run", "completed", workflow_run=run)
    answer = await hub.get(f"{RUNS}?per_page=1")
    (shown,) = answer.json()["workflow_runs"]
    assert shown["referenced_workflows"]
    assert shown["pull_requests"]
    assert shown["head_commit"]["message"]
    assert 100 * len(answer.content) < 8_000_000


@pytest.mark.parametrize("first", ["workflow_run", "workflow_job"])
async def test_no_invented_attempt_outdates_a_source_s_events(
    hub: httpx.AsyncClient, platform: Platform, first: str
) -> None:
    invented = run(run_attempt=10**9, conclusion="success")
    job = {"id": 5, "run_id": 1, "run_attempt": 10**9, "name": "lint", "status": "completed"}
    posted = {"workflow_run": invented, "workflow_job": job}
    platform.report(first, "completed", **{first: posted[first]})
    platform.source_id = 1
    platform.report("workflow_job", "queued", workflow_job=job | {"run_attempt": 2})
    platform.report("workflow_run", "completed", workflow_run=run(conclusion="failure"))
    platform.source_id = 0
    for name in posted:
        platform.report(name, "completed", **{name: posted[name]})
    shown = (await hub.get(f"{RUNS}/1")).json()
    assert (shown["run_attempt"], shown["conclusion"]) == (2, "failure")
    (listed,) = (await hub.get(f"{RUNS}/1/jobs")).json()["jobs"]
    assert listed["run_attempt"] == 2


async def test_unsigned_events_change_no_job_that_a_source_signed(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    platform.source_id = 1
    platform.report("workflow_run", "in_progress", workflow_run=run(status="in_progress"))
    platform.source_id = 0
    job = {"id": 5, "run_id": 9, "run_attempt": 2, "name": "lint", "status": "completed"}
    platform.report("workflow_job", "completed", workflow_job=job | {"conclusion": "success"})
    platform.source_id = 1
    job |= {"run_id": 1}
    platform.report("workflow_job", "completed", workflow_job=job | {"conclusion": "failure"})
    platform.source_id = 0
    platform.report("workflow_job", "completed", workflow_job=job | {"conclusion": "success"})
    (shown,) = (await hub.get(f"{RUNS}/1/jobs")).json()["jobs"]
    assert shown["conclusion"] == "failure"
    assert (await hub.get(f"{RUNS}/9/jobs")).json()["jobs"] == []


async def test_no_invented_time_outdates_a_source_s_events_of_a_run(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    invented = run(updated_at=iso(platform.world.now))
    platform.report("workflow_run", "completed", workflow_run=invented)
    platform.source_id = 1
    begun = run(status="in_progress", conclusion=None)
    del begun["updated_at"]
    for given in (begun, run(conclusion="failure")):
        platform.report("workflow_run", "completed", workflow_run=given)
    assert (await hub.get(f"{RUNS}/1")).json()["conclusion"] == "failure"


async def test_an_author_without_an_address_is_left_out(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    given = run()
    given["head_commit"]["author"] = {"name": "Robin", "email": "robin"}
    platform.report("workflow_run", "completed", workflow_run=given)
    assert (await hub.get(f"{RUNS}/1")).json()["head_commit"]["author"] is None


async def test_no_event_reports_artifacts_of_a_run(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    platform.report("workflow_run", "completed", workflow_run={"id": 1})
    shown = (await hub.get(f"{RUNS}/1")).json()
    assert (await hub.get(shown["artifacts_url"])).json() == {"total_count": 0, "artifacts": []}
    assert_error(await hub.get(f"{RUNS}/2/artifacts"), 404)


async def listed(hub: httpx.AsyncClient, query: str = "") -> list[int]:
    answer = await hub.get(f"{RUNS}?{query}")
    assert answer.status_code == 200, answer.text
    content = answer.json()
    assert content["total_count"] == len(content["workflow_runs"])
    return [one["id"] for one in content["workflow_runs"]]


async def test_a_workflow_run_is_shown(hub: httpx.AsyncClient, platform: Platform) -> None:
    platform.report("workflow_run", "completed", workflow_run=run())
    shown = (await hub.get(f"{RUNS}/1")).json()
    given = run()
    same = given.keys() - {"actor", "triggering_actor", "head_repository", "check_suite_id"}
    assert {name: shown[name] for name in same} == {name: given[name] for name in same}
    assert (shown["actor"]["login"], shown["triggering_actor"]["login"]) == ("robin", "octo")
    assert shown["check_suite_url"] == f"{BASE}/repos/octo/hello/check-suites/55"
    assert shown["workflow_url"] == f"{BASE}/repos/octo/hello/actions/workflows/77"
    assert shown["previous_attempt_url"] == f"{BASE}{RUNS}/1/attempts/1"
    assert shown["repository"]["full_name"] == "octo/hello"
    assert shown["head_repository"] == shown["repository"]
    assert (await hub.get(RUNS)).json()["workflow_runs"] == [shown]
    without = (await hub.get(f"{RUNS}/1?exclude_pull_requests=true")).json()
    assert without == shown | {"pull_requests": []}


async def test_the_latest_attempt_of_a_run_is_the_run(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    platform.report("workflow_run", "completed", workflow_run=run())
    shown = (await hub.get(f"{RUNS}/1")).json()
    assert (await hub.get(f"{RUNS}/1/attempts/2")).json() == shown
    for unknown in (0, 1, 3, "x"):
        assert_error(await hub.get(f"{RUNS}/1/attempts/{unknown}"), 404)


async def test_unknown_fields_of_a_run_are_null_or_empty(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    job = {"id": 5, "run_id": 1, "name": "lint", "status": "queued", "head_sha": SHA}
    platform.report("workflow_job", "queued", workflow_job=job)
    shown = (await hub.get(f"{RUNS}/1")).json()
    assert (shown["head_sha"], shown["status"]) == (SHA, "queued")
    assert shown["name"] is shown["head_commit"] is None
    assert shown["pull_requests"] == shown["referenced_workflows"] == []
    empty = ("path", "event", "display_title", "check_suite_url", "workflow_url")
    assert {shown[name] for name in empty} == {""}
    assert (shown["run_number"], shown["workflow_id"]) == (0, 0)
    assert shown["head_repository"] == shown["repository"]
    assert not {"actor", "check_suite_id", "run_started_at"} & shown.keys()


async def test_fields_missing_from_a_later_payload_are_kept(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    platform.report("workflow_run", "requested", workflow_run=run(status="queued", conclusion=None))
    later = {"id": 1, "status": "completed", "conclusion": "failure"}
    platform.report("workflow_run", "completed", workflow_run=later)
    shown = (await hub.get(f"{RUNS}/1")).json()
    assert (shown["status"], shown["conclusion"]) == ("completed", "failure")
    assert (shown["run_number"], shown["head_branch"]) == (31, "main")


async def test_a_private_repository_of_a_fork_is_not_shown(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    for number, name, shown in (
        (1, "octo/vault", "ghost/hello"),
        (2, "nobody/here", "ghost/hello"),
    ):
        reported = run(number, head_repository={"full_name": name})
        platform.report("workflow_run", "completed", workflow_run=reported)
        found = (await hub.get(f"{RUNS}/{number}")).json()["head_repository"]
        assert (found["full_name"], found["id"]) == (shown, 0)


async def test_a_run_of_its_own_repository_follows_its_new_name(
    hub: httpx.AsyncClient, platform: Platform, store: Store, seed: Any
) -> None:
    reported = run(repository={"full_name": "Octo/Hello"})
    platform.report("workflow_run", "completed", workflow_run=reported)
    store.write_sync(repositories.rename, seed.hello, "hi")
    store.write_sync(repositories.create, seed.octo["id"], "hello")
    shown = (await hub.get("/repos/octo/hi/actions/runs/1")).json()
    assert shown["head_repository"] == shown["repository"]


async def test_workflow_runs_are_filtered(hub: httpx.AsyncClient, platform: Platform) -> None:
    for given in (
        run(1, event="schedule", head_branch="next"),
        run(2, status="in_progress", conclusion=None, actor={"login": "octo"}),
        run(3, conclusion="failure", head_sha="1" * 40, check_suite_id=56),
    ):
        platform.report("workflow_run", "completed", workflow_run=given)
    for query, expected in (
        ("", [3, 2, 1]),
        ("event=schedule", [1]),
        ("branch=next", [1]),
        ("status=in_progress", [2]),
        ("status=failure", [3]),
        ("status=completed", [3, 1]),
        ("actor=OCTO", [2]),
        (f"head_sha={'1' * 40}", [3]),
        ("check_suite_id=56", [3]),
        ("created=2026-11-02", [2]),
        ("created=2026-11-02T10:00:00Z", [2]),
        ("created=%3E2026-11-02", [3]),
        ("created=%3E=2026-11-02", [3, 2]),
        ("created=%3C2026-11-02", [1]),
        ("created=%3C=2026-11-02", [2, 1]),
        ("created=2026-11-01..2026-11-02", [2, 1]),
        ("created=2026-11-02..*", [3, 2]),
        ("created=*..2026-11-01", [1]),
    ):
        assert await listed(hub, query) == expected, query


@pytest.mark.parametrize("query", ["created=monday", "created=..", "status=good", "created=%3E"])
async def test_a_wrong_filter_is_refused(hub: httpx.AsyncClient, query: str) -> None:
    assert_error(await hub.get(f"{RUNS}?{query}"), 422)
