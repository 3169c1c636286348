"""Workflow runs and concurrency groups in state documents."""

from copy import deepcopy
from typing import Any

import pytest
from platform_events import report

from store import Store
from store.repositories import repositories
from store.workflows import concurrency, workflow_jobs, workflow_runs

DOCUMENT: dict[str, Any] = {
    "users": [{"login": "ada"}],
    "repositories": [{"name": "ada/engine"}],
    "workflow_runs": [
        {
            "repository": "ada/engine",
            "id": 1,
            "name": "CI",
            "status": "in_progress",
            "concurrency": {"group": "prod", "configured": ["idle"]},
            "jobs": [
                {
                    "id": 10,
                    "name": "deploy / x",
                    "concurrency": {"group": "db", "queued_at": "2026-11-20T00:00:00Z"},
                }
            ],
        },
        {
            "repository": "ada/engine",
            "id": 2,
            "name": "CI",
            "created_at": "2026-11-20T00:00:00Z",
            "concurrency": {
                "group": "prod",
                "reusable": [{"path": "deploy", "group": "db", "status": "in_progress"}],
            },
        },
    ],
}


def queue(store: Store, name: str) -> list[tuple[int, int | None, int]]:
    repo = store.read_sync(repositories.find, "ada", "engine")
    group = store.read_sync(concurrency.get, repo["id"], name)
    if group is None:
        return []
    rows = store.read_sync(concurrency.members, group["id"])
    return [(row["run_number"], row["job_number"], row["waiting"]) for row in rows]


def changed(number: int, **fields: Any) -> dict[str, Any]:
    document = deepcopy(DOCUMENT)
    document["workflow_runs"][number] |= fields
    return document


def test_runs_and_groups_are_loaded_and_loading_again_changes_nothing(load, store: Store):
    assert "4 created, 0 updated, 0 unchanged" in load(DOCUMENT).stdout
    assert queue(store, "prod") == [(1, None, 0), (2, None, 1)]
    assert queue(store, "db") == [(2, None, 0), (1, 10, 1)]
    assert queue(store, "idle") == []
    assert "0 created, 0 updated, 4 unchanged" in load(DOCUMENT).stdout


def test_events_with_a_token_change_a_loaded_run(load, store: Store):
    load(DOCUMENT)
    repo = store.read_sync(repositories.find, "ada", "engine")
    job = {"id": 10, "run_id": 1, "status": "completed", "conclusion": "success"}
    report(store, repo, "workflow_job.completed", source_id=0, workflow_job=job)
    run = {"id": 1, "status": "completed", "conclusion": "success"}
    report(store, repo, "workflow_run.completed", source_id=0, workflow_run=run)
    for of, number in ((workflow_runs, 1), (workflow_jobs, 10)):
        assert store.read_sync(of.get, repo["id"], number)["conclusion"] == "success"


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({"status": "completed"}, [(2, None, 1)]),
        ({"name": "other"}, [(1, None, 0), (2, None, 1)]),
        ({"concurrency": {"group": "prod", "status": "released"}}, [(2, None, 1)]),
        ({"concurrency": {"group": None}}, [(2, None, 1)]),
        ({"concurrency": {"group": "other"}}, [(2, None, 1)]),
        ({"concurrency": {"group": "prod", "configured": ["more"]}}, [(1, None, 0), (2, None, 1)]),
        ({"jobs": [{"id": 10, "name": "x", "status": "completed"}]}, [(1, None, 0), (2, None, 1)]),
        ({"attempt": 2, "status": "queued"}, [(2, None, 1), (1, None, 1)]),
    ],
)
def test_a_changed_workflow_run_is_updated(
    load, store: Store, fields: dict[str, Any], left: list[Any]
):
    load(DOCUMENT)
    document = changed(0, **fields)
    assert "0 created, 1 updated, 3 unchanged" in load(document).stdout
    assert "0 created, 0 updated, 4 unchanged" in load(document).stdout
    assert queue(store, "prod") == left


def test_a_run_keeps_its_attempt_and_its_jobs_keep_their_groups(load, store: Store):
    load(changed(0, attempt=2))
    assert "0 created, 0 updated, 4 unchanged" in load(DOCUMENT).stdout
    assert "0 created, 1 updated, 3 unchanged" in load(changed(0, name="other")).stdout
    repo = store.read_sync(repositories.find, "ada", "engine")
    run = store.read_sync(workflow_runs.get, repo["id"], 1)
    assert (run["name"], run["attempt"]) == ("other", 2)
    assert queue(store, "db") == [(2, None, 0), (1, 10, 1)]


@pytest.mark.parametrize(
    ("fields", "reported"),
    [
        ({"repository": "ada/other"}, "no repository"),
        ({"id": 2}, "occurs 2 times"),
        ({"id": 0}, "workflow_runs[0].id"),
        ({"status": "done"}, "workflow_runs[0].status"),
        ({"concurrency": {"group": "g" * 401}}, "workflow_runs[0].concurrency.group"),
        ({"concurrency": {"reusable": [{"group": "a"}]}}, "reusable[0].path"),
    ],
)
def test_a_wrong_workflow_run_is_refused(load, fields: dict[str, Any], reported: str):
    answer = load(changed(0, **fields), code=2)
    assert reported in answer.output
