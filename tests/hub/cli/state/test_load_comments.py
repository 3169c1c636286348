"""State documents: commit comments, and how authors relate to repositories."""

from typing import Any

import pytest

from store import Connection, Row, Store
from store.issues import commit_comments, issue_comments, issues
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


def kept(store: Store) -> Row:
    repo = store.read_sync(repositories.find, "ada", "engine")
    (row,) = store.read_sync(commit_comments.page, repo["id"], limit=9, offset=0)
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
    assert "the commit comment 'ada/engine 7' occurs 2 times" in load(document, code=2).stderr


AUTHORS = {"mia": "MEMBER", "bob": "COLLABORATOR", "eve": "NONE"}
WRITTEN = {
    "users": [{"login": login} for login in AUTHORS],
    "organizations": [{"login": "tower", "members": {"mia": "member"}}],
    "repositories": [{"name": "tower/bells", "collaborators": {"bob": "read"}}],
}


def by_authors(**entry: Any) -> list[dict[str, Any]]:
    """An entry of each author. Ids and numbers count up."""
    return [
        {"repository": "tower/bells", "author": login}
        | {key: value + at if key in ("id", "number") else value for key, value in entry.items()}
        for at, login in enumerate(AUTHORS)
    ]


def test_authors_have_their_relation_to_the_repository(load, store: Store):
    end = {"ref": "main", "sha": SHA}
    now = "2026-01-02T03:04:05Z"
    parts = {
        "issues": by_authors(number=1, title="Silent"),
        "pull_requests": by_authors(number=4, title="Oil", head=end, base=end),
        "issue_comments": by_authors(id=1, issue=1, body="Hm", created_at=now)
        + by_authors(id=4, issue=4, kind="review", state="approved", created_at=now),
        "commit_comments": by_authors(id=1, commit=SHA, body="Hm"),
    }
    load({**WRITTEN, **parts})

    def associations(db: Connection) -> list[str]:
        repo = repositories.find(db, "tower", "bells")
        assert repo is not None
        rows = [issues.get(db, repo["id"], number) for number in range(1, 7)]
        rows += [issue_comments.find(db, repo["id"], "comment", at) for at in (1, 2, 3)]
        rows += [issue_comments.find(db, repo["id"], "review", at) for at in (4, 5, 6)]
        rows += commit_comments.page(db, repo["id"], limit=9, offset=0)
        return [row["author_association"] for row in rows if row is not None]

    assert store.read_sync(associations) == [*AUTHORS.values()] * 5
    # Later roles do not alter the relation, as after an operation.
    load({"repositories": [{"name": "tower/bells", "collaborators": {"eve": "write"}}]})
    assert "0 created, 0 updated, 15 unchanged" in load(parts).stdout


def test_owners_relate_to_their_repositories(load, store: Store):
    load(DOCUMENT)
    assert kept(store)["author_association"] == "OWNER"
