"""State documents: the events of issues, and the comments on them."""

from typing import Any

import pytest

from store import Store
from store.issues import issue_comments, issue_events, issues
from store.repositories import repositories

AT = {"repository": "ada/engine", "issue": 1}
EVENT = {**AT, "event": "closed", "actor": "ada", "created_at": "2026-01-02T03:04:05Z"}
COMMENT = {**AT, "id": 3, "author": "bob", "body": "Hm @ada", "created_at": "2026-01-02T03:04:06Z"}
DOCUMENT: dict[str, Any] = {
    "users": [{"login": "ada"}, {"login": "bob"}],
    "repositories": [{"name": "ada/engine"}],
    "issues": [{"repository": "ada/engine", "number": 1, "title": "It halts"}],
    "issue_events": [EVENT],
    "issue_comments": [COMMENT],
}


def kinds(store: Store) -> list[str]:
    repo = store.read_sync(repositories.find, "ada", "engine")
    row = store.read_sync(issues.get, repo["id"], 1)
    rows = store.read_sync(issue_events.timeline, row["id"], limit=99, offset=0)
    return [each["kind"] for each in rows]


def test_loading_twice_creates_each_event_once(load, store: Store):
    assert "6 created, 0 updated, 0 unchanged" in load(DOCUMENT).stdout
    assert kinds(store) == ["closed", "commented", "mentioned", "subscribed"]
    assert "0 created, 0 updated, 6 unchanged" in load(DOCUMENT).stdout
    assert len(kinds(store)) == 4


def test_a_changed_comment_is_updated(load, store: Store):
    load(DOCUMENT)
    again = {"issue_comments": [{**COMMENT, "body": "Ah", "pinned": True}]}
    assert "0 created, 1 updated, 0 unchanged" in load(again).stdout
    repo = store.read_sync(repositories.find, "ada", "engine")
    row = store.read_sync(issue_comments.find, repo["id"], "comment", 3)
    assert (row["body"], row["pinned_at"] is not None) == ("Ah", True)
    again["issue_comments"][0]["pinned"] = False
    assert "0 created, 1 updated, 0 unchanged" in load(again).stdout
    assert "0 created, 0 updated, 1 unchanged" in load(again).stdout


def test_the_timeline_of_a_deleted_issue_is_empty(load, store: Store):
    load(DOCUMENT)
    gone = {"issues": [{**DOCUMENT["issues"][0], "deleted": True}]}
    load(gone)
    assert kinds(store) == []


@pytest.mark.parametrize(
    "gone", [{"deleted": True}, {"moved_to": {"repository": "ada/other", "number": 2}}]
)
def test_the_events_of_an_issue_that_is_gone_are_in_no_list(
    load, store: Store, gone: dict[str, Any]
):
    document = {**DOCUMENT, "issues": [{**DOCUMENT["issues"][0], **gone}]}
    load(document)
    repo = store.read_sync(repositories.find, "ada", "engine")
    assert store.read_sync(issue_events.of_repository, repo["id"], limit=99, offset=0) == []
    assert kinds(store) == []
    assert "0 created, 0 updated, 6 unchanged" in load(document).stdout


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"event": "invented"}, "'invented' is not an event that can be loaded"),
        ({"event": "commented"}, "'commented' is not an event that can be loaded"),
        ({"event": "labeled"}, "labeled needs: label"),
        ({"event": "merged"}, "merged needs: commit"),
        ({"label": {"name": "bug"}}, "closed cannot have: label"),
        ({"issue": 2}, "issue_events[0]: there is no issue 2 in ada/engine"),
        ({"actor": "nobody"}, "issue_events[0]: there is no account 'nobody'"),
        (
            {"event": "assigned", "assignee": "nobody", "assigner": "ada"},
            "issue_events[0]: there is no account 'nobody'",
        ),
        ({"event": "cross-referenced", "source": 9}, "there is no issue 9 in ada/engine"),
        ({"state_reason": "bored"}, "issue_events[0].state_reason"),
        ({"commit": "main"}, "issue_events[0].commit"),
    ],
)
def test_a_wrong_event_is_refused(load, wrong: dict[str, Any], said: str):
    document = {**DOCUMENT, "issue_events": [EVENT | wrong]}
    assert said in load(document, code=2).stderr


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"author": "nobody"}, "issue_comments[0]: there is no account 'nobody'"),
        ({"issue": 7}, "issue_comments[0]: there is no issue 7"),
        ({"kind": "shout"}, "issue_comments[0].kind"),
        ({"body": "a\0b"}, "issue_comments[0].body"),
    ],
)
def test_a_wrong_comment_is_refused(load, wrong: dict[str, Any], said: str):
    document = {**DOCUMENT, "issue_comments": [COMMENT | wrong]}
    assert said in load(document, code=2).stderr


def test_a_repeated_comment_is_refused(load):
    document = {**DOCUMENT, "issue_comments": [COMMENT, COMMENT]}
    assert "the issue comment 'ada/engine comment 3' occurs 2 times" in (
        load(document, code=2).stderr
    )
