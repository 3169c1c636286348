"""Check runs in state documents."""

from copy import deepcopy
from typing import Any

import pytest

from store import Store
from store.checks import check_annotations, check_runs, check_suites
from store.repositories import repositories

SHA = "ce587453ced02b1526dfb4cb910479d431683101"
LINE = {
    "path": "a.py",
    "start_line": 1,
    "end_line": 2,
    "annotation_level": "warning",
    "message": "Hm",
}
DOCUMENT: dict[str, Any] = {
    "users": [{"login": "ada"}],
    "repositories": [{"name": "ada/engine", "branches": {"main": SHA}}],
    "apps": [
        {"name": "CI", "owner": "ada", "url": "https://ci.example/", "kind": "integration"},
        {"name": "Lab", "owner": "ada", "url": "https://lab.example/"},
    ],
    "check_runs": [
        {
            "repository": "ada/engine",
            "commit": SHA,
            "app": "ci",
            "name": "lint",
            "conclusion": "failure",
            "external_id": "7",
            "started_at": "2026-11-20T00:00:00Z",
            "output": {
                "title": "T",
                "summary": "S",
                "text": "X",
                "annotations": [LINE],
                "images": [{"alt": "A", "image_url": "https://x.example/a.png"}],
            },
            "actions": [{"label": "Fix", "description": "Fix it", "identifier": "fix"}],
        },
        {"repository": "ada/engine", "commit": SHA, "app": "CI", "name": "test"},
    ],
}


def run_of(store: Store, name: str):
    repo = store.read_sync(repositories.find, "ada", "engine")
    (suite_id,) = store.read_sync(check_suites.of_commit, repo["id"], SHA)
    return store.read_sync(check_runs.newest, suite_id, name)


def changed(number: int, **fields: Any) -> dict[str, Any]:
    document = deepcopy(DOCUMENT)
    document["check_runs"][number] |= fields
    return document


def test_check_runs_are_loaded_and_loading_again_changes_nothing(load, store: Store):
    assert "6 created, 0 updated, 0 unchanged" in load(DOCUMENT).stdout
    lint, test = run_of(store, "lint"), run_of(store, "test")
    assert (lint["status"], lint["conclusion"], lint["external_id"]) == (
        "completed",
        "failure",
        "7",
    )
    assert lint["started_at"] == 1_795_132_800_000_000
    assert lint["completed_at"] is not None
    assert (lint["title"], lint["summary"], lint["content"]) == ("T", "S", "X")
    assert lint["images"] == [{"alt": "A", "image_url": "https://x.example/a.png", "caption": None}]
    assert (lint["annotations"], lint["actions"][0]["label"]) == (1, "Fix")
    assert (test["status"], test["details_url"]) == ("queued", "https://ci.example/")
    repo = store.read_sync(repositories.find, "ada", "engine")
    suite = store.read_sync(check_suites.get, repo["id"], lint["suite_number"])
    assert (suite["status"], suite["head_branch"]) == ("queued", "main")
    assert "0 created, 0 updated, 6 unchanged" in load(DOCUMENT).stdout


@pytest.mark.parametrize(
    "fields",
    [
        {"external_id": "8"},
        {"conclusion": "success"},
        {"conclusion": None, "status": "in_progress"},
        {"completed_at": "2026-11-20T01:00:00Z"},
        {"output": {"summary": "other"}},
        {"output": {"annotations": [LINE, LINE]}},
        {"output": {"annotations": []}},
        {"actions": []},
    ],
)
def test_a_changed_check_run_is_updated(load, store: Store, fields: dict[str, Any]):
    load(DOCUMENT)
    document = changed(0, **fields)
    assert "0 created, 1 updated, 5 unchanged" in load(document).stdout
    assert "0 created, 0 updated, 6 unchanged" in load(document).stdout
    lint = run_of(store, "lint")
    assert lint["annotations"] == len(
        store.read_sync(check_annotations.page, lint["id"], limit=9, offset=0)
    )


@pytest.mark.parametrize(
    ("fields", "reported"),
    [
        ({"app": "Lab"}, "is no integration"),
        ({"app": "None"}, "no app"),
        ({"repository": "ada/other"}, "no repository"),
        ({"commit": "main"}, "check_runs[0].commit"),
        ({"status": "completed", "conclusion": None}, "needs a conclusion"),
        ({"status": "queued"}, "with a conclusion is completed"),
        ({"conclusion": "stale"}, "check_runs[0].conclusion"),
        ({"name": "test"}, "occurs 2 times"),
        ({"output": {"annotations": [{**LINE, "start_line": -1}]}}, "annotations[0].start_line"),
    ],
)
def test_a_wrong_check_run_is_refused(load, fields: dict[str, Any], reported: str):
    answer = load(changed(0, **fields), code=2)
    assert reported in answer.output
