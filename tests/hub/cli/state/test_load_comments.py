"""State documents: commit comments."""

import json
from typing import Any

import pytest

from store import Row, Store
from store.issues import commit_comments
from store.repositories import repositories

SHA = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
COMMENT: dict[str, Any] = {
    "repository": "ada/engine",
    "id": 7,
    "commit": SHA,
    "author": "ada",
    "body": "Well *done*",
    "path": "engine.py",
    "line": 3,
    "created_at": "2026-01-02T03:04:05Z",
}
DOCUMENT: dict[str, Any] = {
    "users": [{"login": "ada"}],
    "repositories": [{"name": "ada/engine"}],
    "commit_comments": [COMMENT],
}


@pytest.fixture
def load(run):
    def call(document: dict[str, Any], code: int = 0):
        return run("load", "-", code=code, stdin=json.dumps(document))

    return call


def kept(store: Store) -> Row:
    repo = store.look(repositories.find, "ada", "engine")
    (row,) = store.look(commit_comments.page, repo["id"], limit=9, offset=0)
    return row


def test_comments_are_made_once(load, store: Store):
    assert "3 created, 0 updated, 0 unchanged" in load(DOCUMENT).stdout
    row = kept(store)
    assert (row["foreign_id"], row["commit_id"], row["path"], row["line"]) == (
        7,
        SHA,
        "engine.py",
        3,
    )
    assert (row["html"], row["plain"]) == ("<p>Well <em>done</em></p>\n", "Well done")
    assert row["created_at"] == 1_767_323_045_000_000
    assert "0 created, 0 updated, 3 unchanged" in load(DOCUMENT).stdout


def test_changed_comments_are_updated(load, store: Store):
    load(DOCUMENT)
    changed = {key: COMMENT[key] for key in ("repository", "id", "commit", "author")}
    again = {"commit_comments": [{**changed, "body": "Hm"}]}
    assert "0 created, 1 updated, 0 unchanged" in load(again).stdout
    row = kept(store)
    # A field that the document leaves out keeps its value.
    assert (row["body"], row["line"]) == ("Hm", 3)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"author": "nobody"}, "commit_comments[0]: there is no account 'nobody'"),
        ({"repository": "ada/none"}, "commit_comments[0]: there is no repository 'ada/none'"),
        ({"commit": "main"}, "commit_comments[0].commit"),
        ({"body": ""}, "commit_comments[0].body"),
        ({"line": -1}, "commit_comments[0].line"),
        ({"color": "red"}, "there is no such key"),
    ],
)
def test_a_wrong_comment_is_refused(load, wrong: dict[str, Any], said: str):
    document = {**DOCUMENT, "commit_comments": [COMMENT | wrong]}
    assert said in load(document, code=2).stderr


def test_a_repeated_comment_is_refused(load):
    document = {**DOCUMENT, "commit_comments": [COMMENT, COMMENT]}
    assert "the commit comment 'ada/engine 7' is there 2 times" in load(document, code=2).stderr
