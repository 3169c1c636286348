"""Serializers of commits, of which the server knows what events said."""

from typing import Literal, NotRequired

import orjson
from typing_extensions import TypedDict

from hub.rest import serializers
from hub.rest.serializers import SimpleUser, node_id
from hub.rest.urls import Urls
from store import Connection, Row
from store.accounts import accounts
from store.checks import described_commits
from store.clock import iso
from store.issues import commit_comments


class CommitLink(TypedDict):
    sha: str
    url: str


class GitUser(TypedDict):
    name: str
    email: str
    date: NotRequired[str]


class GitCommit(TypedDict):
    """A commit as an event described it. If none did, texts are empty and people are null."""

    url: str
    author: GitUser | None
    committer: GitUser | None
    message: str
    comment_count: int
    tree: CommitLink
    verification: "Verification"


class Verification(TypedDict):
    """Whether the signature of a commit is good. No event has signatures of commits."""

    verified: bool
    reason: Literal["gpgverify_unavailable"]
    signature: None
    payload: None
    verified_at: None


class Commit(TypedDict):
    """A commit. Its parents are not known here."""

    url: str
    sha: str
    node_id: str
    html_url: str
    comments_url: str
    commit: GitCommit
    author: SimpleUser | None
    committer: SimpleUser | None
    parents: list[CommitLink]


UNVERIFIED: Verification = {
    "verified": False,
    "reason": "gpgverify_unavailable",
    "signature": None,
    "payload": None,
    "verified_at": None,
}


def known_commit(
    urls: Urls, db: Connection, repo: Row, sha: str, description: str | None = None
) -> Commit:
    """Serialize a commit with its description, or else with what any event has said about it."""
    found = description or described_commits.find(db, repo["id"], sha)
    return commit(urls, db, repo, sha, found)


def event_commit(urls: Urls, db: Connection, repo: Row, sha: str, date: int) -> Commit:
    """Serialize a commit for an event. A person whom no event has named has this date and no name.

    Receivers read the names and dates of author and committer without a check for null.
    """
    shown = known_commit(urls, db, repo, sha)
    nobody: GitUser = {"name": "", "email": "", "date": iso(date)}
    inner = shown["commit"]
    inner["author"] = inner["author"] or nobody
    inner["committer"] = inner["committer"] or nobody
    return shown


def commit(urls: Urls, db: Connection, repo: Row, sha: str, description: str | None) -> Commit:
    """Serialize a commit. `description` has the form of `head_commits.read`."""
    known: Row = {} if description is None else orjson.loads(description)
    author, committer = known.get("author"), known.get("committer")
    people = accounts.users_by_login(
        db, [one["username"] for one in (author, committer) if one and "username" in one]
    )
    tree = known.get("tree_id", "")
    url = urls.commit(repo, sha)
    return {
        "url": url,
        "sha": sha,
        "node_id": node_id("Commit", f"{repo['id']}:{sha}"),
        "html_url": urls.commit_page(repo, sha),
        "comments_url": f"{url}/comments",
        "commit": {
            "url": urls.git_object(repo, "commit", sha),
            "author": _git_user(author, known),
            "committer": _git_user(committer, known),
            "message": known.get("message", ""),
            "comment_count": commit_comments.count(db, repo["id"], most=2**31, commit_id=sha),
            "tree": {"sha": tree, "url": urls.git_object(repo, "tree", tree)},
            "verification": UNVERIFIED,
        },
        "author": _account(urls, people, author),
        "committer": _account(urls, people, committer),
        "parents": [],
    }


def _git_user(person: Row | None, known: Row) -> GitUser | None:
    if person is None:
        return None
    return {"name": person["name"], "email": person["email"], "date": iso(known["timestamp"])}


def _account(urls: Urls, people: dict[str, Row], person: Row | None) -> SimpleUser | None:
    found = people.get(str((person or {}).get("username", "")).lower())
    return None if found is None else serializers.simple_user(urls, found)
