"""Workflows that events of their runs reported."""

from random import Random
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from assertions import BASE, assert_error
from issue_world import Platform

FLOWS = "/repos/octo/hello/actions/workflows"


def workflow(**changed: Any) -> dict[str, Any]:
    """A workflow, as a platform reports it."""
    given = {
        "id": 77,
        "name": "Build",
        "path": ".forge/workflows/build.yml",
        "state": "active",
        "created_at": "2026-11-01T10:00:00.000Z",
        "updated_at": "2026-11-02T10:00:00.000Z",
    }
    return given | changed


def run(number: int = 1, **changed: Any) -> dict[str, Any]:
    return {"id": number, "name": "Build", "workflow_id": 77} | changed


async def listed(hub: httpx.AsyncClient) -> list[tuple[int, str, str]]:
    content = (await hub.get(FLOWS)).json()
    assert content["total_count"] == len(content["workflows"])
    return [(one["id"], one["name"], one["path"]) for one in content["workflows"]]


async def runs(hub: httpx.AsyncClient, key: str, query: str = "") -> list[int]:
    content = (await hub.get(f"{FLOWS}/{key}/runs?{query}")).json()
    assert content["total_count"] == len(content["workflow_runs"])
    return [one["id"] for one in content["workflow_runs"]]


@pytest.mark.parametrize("key", ["77", "build.yml"])
async def test_a_workflow_is_shown_by_its_id_and_its_file(
    hub: httpx.AsyncClient, platform: Platform, key: str
) -> None:
    platform.report("workflow_run", "requested", workflow=workflow(), workflow_run=run())
    shown = (await hub.get(f"{FLOWS}/{key}")).json()
    assert shown == {
        "id": 77,
        "node_id": shown["node_id"],
        "name": "Build",
        "path": ".forge/workflows/build.yml",
        "state": "active",
        "created_at": "2026-11-01T10:00:00Z",
        "updated_at": "2026-11-02T10:00:00Z",
        "url": f"{BASE}{FLOWS}/77",
        "html_url": shown["html_url"],
        "badge_url": shown["badge_url"],
    }
    assert shown["html_url"].endswith("/octo/hello/blob/main/.forge/workflows/build.yml")
    assert shown["badge_url"].endswith("/octo/hello/actions/workflows/build.yml/badge.svg")
    assert (await hub.get(FLOWS)).json() == {"total_count": 1, "workflows": [shown]}
    run_shown = (await hub.get("/repos/octo/hello/actions/runs/1")).json()
    assert run_shown["workflow_url"] == shown["url"]


async def test_an_older_report_changes_no_workflow(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    later = {"name": "Built", "path": "a/c.yml", "updated_at": "2026-11-03T10:00:00Z"}
    for flow in (workflow(), workflow(**later), workflow(state="disabled_manually")):
        platform.report("workflow_run", "requested", workflow=flow, workflow_run=run())
    assert await listed(hub) == [(77, "Built", "a/c.yml")]
    shown = (await hub.get(f"{FLOWS}/c.yml")).json()
    assert (shown["name"], shown["state"]) == ("Built", "active")
    assert_error(await hub.get(f"{FLOWS}/build.yml"), 404)


async def test_a_run_describes_only_a_workflow_that_is_unknown(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    platform.report("workflow_run", "requested", workflow_run=run(path="a/build.yml@main"))
    assert await listed(hub) == [(77, "Build", "a/build.yml")]
    platform.report("workflow_run", "requested", workflow_run=run(2, name="Other", path="b.yml"))
    assert await listed(hub) == [(77, "Build", "a/build.yml")]


async def test_the_runs_of_a_workflow_are_listed(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    for given in (run(1), run(2, status="completed"), run(3, workflow_id=78)):
        platform.report("workflow_run", "requested", workflow_run=given)
    assert await runs(hub, "77") == [2, 1]
    assert await runs(hub, "77", "status=completed") == [2]
    assert await runs(hub, "78") == [3]
    assert_error(await hub.get(f"{FLOWS}/79/runs"), 404)


async def test_runs_of_an_unknown_workflow_have_one_too(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    platform.report("workflow_job", "queued", workflow_job={"id": 5, "run_id": 1})
    (shown,) = (await hub.get("/repos/octo/hello/actions/runs")).json()["workflow_runs"]
    assert (shown["workflow_id"], shown["workflow_url"]) == (0, "")
    unknown = (await hub.get(f"{FLOWS}/{shown['workflow_id']}")).json()
    assert (unknown["id"], unknown["name"], unknown["state"]) == (0, "", "deleted")
    assert (await listed(hub), await runs(hub, "0")) == ([], [1])
    platform.report("workflow_run", "requested", workflow_run=run())
    assert (await runs(hub, "0"), await runs(hub, "77")) == ([], [1])


async def test_no_event_makes_a_workflow_with_the_id_of_unknown_ones(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    platform.report("workflow_run", "requested", workflow_run={"id": 1})
    named = run(2, workflow_id=0, path="a/b.yml")
    platform.report("workflow_run", "requested", workflow=workflow(id=0), workflow_run=named)
    assert await listed(hub) == []
    assert_error(await hub.get(f"{FLOWS}/b.yml/runs"), 404)
    assert await runs(hub, "0") == [2, 1]


@pytest.mark.parametrize("key", ["nothing.yml", "9" * 18, "9" * 40, "%00"])
async def test_an_unknown_workflow_is_not_found(
    hub: httpx.AsyncClient, platform: Platform, key: str
) -> None:
    platform.report("workflow_run", "requested", workflow=workflow(), workflow_run=run())
    assert_error(await hub.get(f"{FLOWS}/{key}"), 404)


@pytest.mark.parametrize("name", ["a@b.yml", "glocke läuten #1?.yml", "%2e.yml"])
async def test_the_file_of_a_workflow_may_have_any_name(
    hub: httpx.AsyncClient, platform: Platform, name: str
) -> None:
    flow = workflow(path=f"a/{name}")
    platform.report("workflow_run", "requested", workflow=flow, workflow_run=run())
    shown = (await hub.get(f"{FLOWS}/{quote(name)}")).json()
    assert (shown["id"], shown["path"]) == (77, f"a/{name}")


async def test_a_workflow_may_have_a_huge_path(hub: httpx.AsyncClient, platform: Platform) -> None:
    # Characters of four bytes, in an order that no engine compresses.
    path = "".join(map(chr, Random(5).sample(range(0x10000, 0x1FFFF), 1_000)))
    flow = workflow(path=path)
    platform.report("workflow_run", "requested", workflow=flow, workflow_run=run())
    assert await listed(hub) == [(77, "Build", path)]
