"""Serializers of branches, tags and refs, and of what is known about their commits."""

from collections.abc import Collection
from typing import Any, Literal, NotRequired

import orjson
from typing_extensions import TypedDict

from hub.rest import serializers
from hub.rest.serializers import SimpleUser, node_id
from hub.rest.urls import Urls
from store import Connection, Row
from store.accounts import accounts
from store.clock import iso
from store.issues import commit_comments
from store.repositories import branch_protection, refs
from store.repositories.branch_protection import BranchPattern


class CommitLink(TypedDict):
    sha: str
    url: str


class ShortBranch(TypedDict):
    name: str
    commit: CommitLink
    protected: bool
    protection: "BranchProtection"
    protection_url: str


class BranchProtection(TypedDict):
    """Whether a rule protects the branch. The rule's content is not known here."""

    enabled: bool


class Tag(TypedDict):
    name: str
    commit: CommitLink
    zipball_url: str
    tarball_url: str
    node_id: str


class GitObject(TypedDict):
    type: Literal["commit", "tag"]
    sha: str
    url: str


class GitRef(TypedDict):
    ref: str
    node_id: str
    url: str
    object: GitObject


class GitUser(TypedDict):
    name: str
    email: str
    date: NotRequired[str]


class GitCommit(TypedDict):
    """A commit as a push described it. If none did, texts are empty and people are null."""

    url: str
    author: GitUser | None
    committer: GitUser | None
    message: str
    comment_count: int
    tree: CommitLink


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


class BranchLinks(TypedDict):
    html: str
    self: str


class Branch(TypedDict):
    name: str
    commit: Commit
    _links: BranchLinks
    protected: bool
    protection: BranchProtection
    protection_url: str


def short_branch(
    urls: Urls, repo: Row, row: Row, protected: Collection[BranchPattern]
) -> ShortBranch:
    """Serialize a branch in its short form. `protected` are the repository's patterns."""
    name = row["name"].removeprefix(refs.BRANCHES)
    is_protected = branch_protection.protects(protected, name)
    return {
        "name": name,
        "commit": {"sha": row["sha"], "url": urls.commit(repo, row["sha"])},
        "protected": is_protected,
        "protection": {"enabled": is_protected},
        "protection_url": f"{urls.branch(repo, name)}/protection",
    }


def branch(urls: Urls, db: Connection, repo: Row, row: Row) -> Branch:
    """Serialize a branch with what is known about its commit."""
    short = short_branch(urls, repo, row, branch_protection.patterns(db, repo["id"]))
    name = short["name"]
    return {
        "name": name,
        "commit": commit(urls, db, repo, row),
        "_links": {"html": urls.branch_page(repo, name), "self": urls.branch(repo, name)},
        "protected": short["protected"],
        "protection": short["protection"],
        "protection_url": short["protection_url"],
    }


def tag(urls: Urls, repo: Row, row: Row) -> Tag:
    sha = str(_head(row).get("id", row["sha"]))
    return {
        "name": row["name"].removeprefix(refs.TAGS),
        "commit": {"sha": sha, "url": urls.commit(repo, sha)},
        "zipball_url": f"{urls.repository(repo)}/zipball/{row['name']}",
        "tarball_url": f"{urls.repository(repo)}/tarball/{row['name']}",
        "node_id": node_id("Ref", f"{repo['id']}:{row['name']}"),
    }


def git_ref(urls: Urls, repo: Row, row: Row) -> GitRef:
    """Serialize a ref. A tag that was pushed with another SHA than its commit's is an object."""
    annotated = row["name"].startswith(refs.TAGS) and _head(row).get("id", row["sha"]) != row["sha"]
    kind: Literal["commit", "tag"] = "tag" if annotated else "commit"
    return {
        "ref": row["name"],
        "node_id": node_id("Ref", f"{repo['id']}:{row['name']}"),
        "url": urls.ref(repo, row["name"]),
        "object": {
            "type": kind,
            "sha": row["sha"],
            "url": urls.git_object(repo, kind, row["sha"]),
        },
    }


def _head(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = {} if row["head"] is None else orjson.loads(row["head"])
    return found


def commit(urls: Urls, db: Connection, repo: Row, row: Row) -> Commit:
    """Serialize the commit `sha` of a row, as its `head` describes it."""
    known, sha, number = _head(row), row["sha"], 2**31
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
            "comment_count": commit_comments.count(db, repo["id"], most=number, commit_id=sha),
            "tree": {"sha": tree, "url": urls.git_object(repo, "tree", tree)},
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
