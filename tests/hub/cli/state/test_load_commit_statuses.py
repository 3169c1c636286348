"""Commit statuses in state documents."""

import json
from typing import Any

import pytest

from store import Store
from store.checks import commit_statuses
from store.repositories import repositories

pytestmark = pytest.mark.usefixtures("url")

SHA = "6" * 40
STATUS = {"repository": "ada/engine", "commit": SHA, "context": "ci", "state": "pending"}
STATUS |= {"creator": "ada", "description": "It rings", "target_url": "https://ci.example/1"}


@pytest.fixture
def load(run: Any) -> Any:
    def call(*statuses: Any, code: int = 0) -> Any:
        document = {
            "users": [{"login": "ada"}],
            "repositories": [{"name": "ada/engine"}],
            "commit_statuses": statuses,
        }
        return run("load", "-", "--json", stdin=json.dumps(document), code=code)

    return call


def outcome(loaded: Any) -> str:
    changes = json.loads(loaded.stdout)["changes"]
    (found,) = (one["outcome"] for one in changes if one["kind"] == "commit status")
    return str(found)


def test_a_status_is_added_if_it_differs(load: Any, store: Store) -> None:
    assert outcome(load(STATUS)) == "created"
    assert outcome(load(STATUS)) == "unchanged"
    assert outcome(load({**STATUS, "context": "CI", "state": "success"})) == "updated"
    repo = store.read_sync(repositories.find, "ada", "engine")
    rows = store.read_sync(commit_statuses.page, repo["id"], SHA, limit=9, offset=0)
    assert sorted((row["state"], row["description"]) for row in rows) == [
        ("pending", "It rings"),
        ("success", "It rings"),
    ]
    newest = store.read_sync(commit_statuses.newest, repo["id"], SHA, "ci")
    assert newest["state"] == "success"


def test_a_left_out_key_is_no_difference(load: Any, store: Store) -> None:
    load(STATUS)
    short = {name: STATUS[name] for name in ("repository", "commit", "context", "state", "creator")}
    assert outcome(load(short)) == "unchanged"
    assert outcome(load({**short, "description": "It rang"})) == "updated"
    repo = store.read_sync(repositories.find, "ada", "engine")
    newest = store.read_sync(commit_statuses.newest, repo["id"], SHA, "ci")
    assert (newest["description"], newest["target_url"]) == ("It rang", None)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"creator": "nobody"}, "there is no account 'nobody'"),
        ({"state": "green"}, "commit_statuses[0].state"),
        ({"commit": "main"}, "commit_statuses[0].commit"),
        ({"target_url": "ftp://x"}, "commit_statuses[0].target_url"),
    ],
)
def test_wrong_statuses(load: Any, wrong: dict[str, str], said: str) -> None:
    assert said in load(STATUS | wrong, code=2).stderr
