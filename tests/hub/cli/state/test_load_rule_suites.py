"""Rule suites in state documents."""

from copy import deepcopy
from typing import Any

import pytest

from store import Store
from store.repositories import repositories, rule_suites

DOCUMENT: dict[str, Any] = {
    "users": [{"login": "ada"}],
    "repositories": [{"name": "ada/engine"}],
    "rule_suites": [
        {
            "repository": "ada/engine",
            "id": 21,
            "actor": "ada",
            "ref": "refs/heads/main",
            "before_sha": "a" * 40,
            "after_sha": "b" * 40,
            "pushed_at": "2026-11-20T10:00:00Z",
            "rule_evaluations": [
                {
                    "rule_source": {"type": "protected_branch"},
                    "enforcement": "active",
                    "result": "fail",
                    "rule_type": "pull_request",
                }
            ],
        }
    ],
}


def changed(**fields: Any) -> dict[str, Any]:
    document = deepcopy(DOCUMENT)
    document["rule_suites"][0] |= fields
    return document


def test_rule_suites_are_loaded_and_loading_again_changes_nothing(load, store: Store):
    assert "3 created, 0 updated, 0 unchanged" in load(DOCUMENT).stdout
    repo = store.read_sync(repositories.find, "ada", "engine")
    row = store.read_sync(rule_suites.get, repo["id"], 21)
    assert (row["result"], row["actor_name"], row["ref_name"]) == ("fail", "ada", "main")
    assert row["pushed_at"] == 1_795_168_800_000_000
    assert row["evaluations"][0]["details"] is None
    assert "0 created, 0 updated, 3 unchanged" in load(DOCUMENT).stdout


@pytest.mark.parametrize(
    "fields",
    [
        {"result": "bypass"},
        {"evaluation_result": "pass"},
        {"ref": "refs/tags/v1"},
        {"rule_evaluations": []},
        {"pushed_at": "2026-11-20T11:00:00Z"},
    ],
)
def test_a_changed_rule_suite_is_updated(load, fields: dict[str, Any]):
    load(DOCUMENT)
    assert "0 created, 1 updated, 2 unchanged" in load(changed(**fields)).stdout
    assert "0 created, 0 updated, 3 unchanged" in load(changed(**fields)).stdout


@pytest.mark.parametrize(
    ("fields", "reported"),
    [
        ({"repository": "ada/other"}, "no repository"),
        ({"actor": "eve"}, "no account"),
        ({"ref": "main"}, "rule_suites[0].ref"),
        ({"result": "maybe"}, "rule_suites[0].result"),
        ({"after_sha": "x"}, "rule_suites[0].after_sha"),
    ],
)
def test_a_wrong_rule_suite_is_refused(load, fields: dict[str, Any], reported: str):
    answer = load(changed(**fields), code=2)
    assert reported in answer.output
