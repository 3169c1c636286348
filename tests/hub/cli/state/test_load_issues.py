"""State documents: labels, milestones, issues, pull requests, and details of repositories."""

import json
from typing import Any

import pytest
import yaml
from required import required

from store import Row, Store
from store.accounts import accounts
from store.clock import parse
from store.issues import issues, labels, milestones, pulls
from store.repositories import refs, repositories

SHA = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
DOCUMENT = f"""
users: [{{login: ada}}, {{login: eve}}]
organizations: [{{login: tower, description: Bells}}]
repositories:
  - name: ada/engine
    topics: [steam]
    language: Ada
    forks: 2
    branches: {{main: {SHA}}}
    tags: {{v1: {SHA}}}
labels:
  - {{repository: ada/engine, name: Bug, color: D73A4A}}
milestones:
  - {{repository: ada/engine, number: 1, title: First, creator: ada, due_on: 2026-12-24}}
issues:
  - repository: ada/engine
    number: 1
    title: No steam
    author: eve
    labels: [bug]
    assignees: [ada]
    milestone: 1
  - {{repository: ada/engine, number: 2, title: Done, state: closed, milestone: 1}}
pull_requests:
  - repository: ada/engine
    number: 3
    title: Steam
    head: {{ref: steam, sha: {SHA}, repository: eve/engine}}
    base: {{ref: main, sha: {SHA}}}
    merged_by: ada
"""


@pytest.fixture
def load(run):
    def call(document: str | dict[str, Any], code: int = 0):
        text = document if isinstance(document, str) else json.dumps(document)
        return run("load", "-", "--json", code=code, stdin=text)

    return call


def outcomes(result) -> dict[str, str]:
    changes = json.loads(result.stdout)["changes"]
    return {f"{each['kind']} {each['name']}": each["outcome"] for each in changes}


def repository(store: Store) -> Row:
    return required(store.read_sync(repositories.find, "ada", "engine"))


def issue(store: Store, number: int) -> Row:
    return required(store.read_sync(issues.get, repository(store)["id"], number))


def test_all_parts_are_loaded_and_loading_again_changes_nothing(load, store: Store):
    assert set(outcomes(load(DOCUMENT)).values()) == {"created"}
    repo, tower = repository(store), store.read_sync(accounts.by_login, "tower")
    assert (repo["topics"], repo["language"], repo["forks"]) == ('["steam"]', "Ada", 2)
    assert tower["description"] == "Bells"
    assert [store.read_sync(refs.resolve, repo["id"], name) for name in ("main", "v1")] == [
        SHA,
        SHA,
    ]
    assert store.read_sync(labels.by_name, repo["id"], "bug")["color"] == "d73a4a"
    first = store.read_sync(milestones.get, repo["id"], 1)
    assert first["due_on"] == parse("2026-12-24")
    assert (first["open_issues"], first["closed_issues"]) == (1, 1)
    ada, eve = (store.read_sync(accounts.by_login, login)["id"] for login in ("ada", "eve"))
    one, two, three = (issue(store, number) for number in (1, 2, 3))
    assert (one["author_id"], one["milestone_id"], one["closed_at"]) == (eve, first["id"], None)
    assert store.read_sync(issues.assignees, [one["id"]]) == {one["id"]: [ada]}
    assert two["closed_at"] is not None
    pull = store.read_sync(pulls.of_issues, [three["id"]])[three["id"]]
    assert (three["is_pull"], pull["head_repo"], pull["merged_by_id"]) == (1, "eve/engine", ada)
    assert set(outcomes(load(DOCUMENT)).values()) == {"unchanged"}
    assert [issue(store, number) for number in (1, 2, 3)] == [one, two, three]


def test_a_milestone_counts_no_issue_that_is_gone(load, store: Store):
    load(DOCUMENT)
    away = {"moved_to": {"repository": "eve/engine", "number": 1}}
    gone = ((1, "No steam", away), (2, "Done", {"deleted": True}))
    named = {"repository": "ada/engine"}
    load({"issues": [{**named, "number": n, "title": title, **end} for n, title, end in gone]})
    first = store.read_sync(milestones.get, repository(store)["id"], 1)
    assert (first["open_issues"], first["closed_issues"]) == (0, 0)


def test_changes_are_applied_and_unmentioned_fields_kept(load, store: Store):
    load(DOCUMENT)
    one = issue(store, 1)
    changes = {
        "organizations": [{"login": "tower", "description": None}],
        "labels": [{"repository": "ada/engine", "name": "bug", "description": "Broken"}],
        "issues": [{"repository": "ada/engine", "number": 1, "title": "Steam", "labels": []}],
    }
    assert set(outcomes(load(changes)).values()) == {"updated"}
    after = issue(store, 1)
    assert after == one | {"title": "Steam", "updated_at": after["updated_at"]}
    assert store.read_sync(labels.of_issues, [one["id"]]) == {}
    kept = store.read_sync(labels.by_name, repository(store)["id"], "bug")
    assert (kept["color"], kept["description"]) == ("d73a4a", "Broken")


def test_issues_can_be_deleted_and_transferred(load, store: Store):
    load(DOCUMENT)
    load(
        {
            "issues": [
                {"repository": "ada/engine", "number": 1, "title": "No steam", "deleted": True},
                {
                    "repository": "ada/engine",
                    "number": 2,
                    "title": "Done",
                    "moved_to": {"repository": "ada/attic", "number": 5},
                },
            ]
        }
    )
    assert issue(store, 1)["deleted_at"] is not None
    assert (issue(store, 2)["moved_to"], issue(store, 2)["moved_number"]) == ("ada/attic", 5)


def test_a_pull_request_keeps_the_repository_of_its_head(load, store: Store):
    load(DOCUMENT)
    known = {"repository": "ada/engine", "number": 3, "title": "Steam"}
    end = {"ref": "more", "sha": SHA}

    def head_repository() -> str:
        number = issue(store, 3)["id"]
        return store.read_sync(pulls.of_issues, [number])[number]["head_repo"]

    base = {**end, "repository": "Ada/Engine"}
    load({"pull_requests": [{**known, "head": end, "base": base}]})
    assert head_repository() == "eve/engine"
    load({"pull_requests": [{**known, "head": {**end, "repository": None}, "base": end}]})
    assert head_repository() == "ada/engine"


def test_an_issue_that_becomes_a_pull_request_gets_a_head(load, store: Store):
    load(DOCUMENT)
    end = {"ref": "more", "sha": SHA}
    pull = {"repository": "ada/engine", "number": 1, "title": "Steam", "head": end, "base": end}
    load({"pull_requests": [pull]})
    number = issue(store, 1)["id"]
    assert store.read_sync(pulls.of_issues, [number])[number]["head_repo"] == "ada/engine"


@pytest.mark.parametrize(
    ("part", "changed", "message"),
    [
        ("labels", {"color": "red"}, "labels[0].color"),
        ("labels", {"name": ""}, "labels[0].name"),
        ("labels", {"repository": "ada/none"}, "labels[0]: "),
        ("milestones", {"creator": "nobody"}, "milestones[0]: there is no account 'nobody'"),
        ("milestones", {"number": 0}, "milestones[0].number"),
        ("issues", {"labels": ["none"]}, "issues[0]: there is no label 'none'"),
        ("issues", {"milestone": 9}, "issues[0]: there is no milestone 9"),
        ("issues", {"assignees": ["nobody"]}, "issues[0]: there is no account 'nobody'"),
        ("issues", {"title": "a\0b"}, "issues[0].title"),
        ("issues", {"number": 3}, "the issue or pull request 'ada/engine 3' occurs 2 times"),
        ("pull_requests", {"head": {"ref": "x", "sha": "short"}}, "pull_requests[0].head.sha"),
        ("pull_requests", {"merged_by": "nobody"}, "pull_requests[0]: there is no account"),
        ("pull_requests", {"deleted": True}, "pull_requests[0].deleted: there is no such key"),
        ("pull_requests", {"moved_to": None}, "pull_requests[0].moved_to: there is no such key"),
        (
            "pull_requests",
            {"base": {"ref": "x", "sha": SHA, "repository": "eve/engine"}},
            "base.repository must be the pull request's own repository",
        ),
    ],
)
def test_a_mistake_is_named_and_nothing_is_written(load, store: Store, part, changed, message):
    document = json.loads(json.dumps(yaml.safe_load(DOCUMENT), default=str))
    document[part][0] |= changed
    assert message in load(document, code=2).output
    assert store.read_sync(accounts.list_all) == []


def test_an_account_known_from_events_is_created(load, store: Store):
    store.write_sync(
        lambda db: db.execute(
            "INSERT INTO account (login, login_key, kind, heard_of, created_at, updated_at)"
            " VALUES ('Eve', 'eve', 'User', 1, 1, 1)"
        )
    )
    assert outcomes(load({"users": [{"login": "eve", "name": "Eve"}]})) == {"user eve": "created"}
    eve = store.read_sync(accounts.by_login, "eve")
    assert (eve["login"], eve["name"], eve["heard_of"]) == ("eve", "Eve", 0)
