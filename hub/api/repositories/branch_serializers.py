"""Serializers of branches, tags and refs."""

from collections.abc import Collection
from typing import Literal

from typing_extensions import TypedDict

from hub.api.repositories.commit_serializers import Commit, CommitLink, commit
from hub.rest.serializers import node_id
from hub.rest.urls import Urls
from store import Connection, Row
from store.repositories import branch_protection, refs
from store.repositories.branch_protection import BranchPattern


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
        "commit": commit(urls, db, repo, row["sha"], row["head"]),
        "_links": {"html": urls.branch_page(repo, name), "self": urls.branch(repo, name)},
        "protected": short["protected"],
        "protection": short["protection"],
        "protection_url": short["protection_url"],
    }


def tag(urls: Urls, repo: Row, row: Row) -> Tag:
    sha = refs.commit_of(row)
    return {
        "name": row["name"].removeprefix(refs.TAGS),
        "commit": {"sha": sha, "url": urls.commit(repo, sha)},
        "zipball_url": f"{urls.repository(repo)}/zipball/{row['name']}",
        "tarball_url": f"{urls.repository(repo)}/tarball/{row['name']}",
        "node_id": node_id("Ref", f"{repo['id']}:{row['name']}"),
    }


def git_ref(urls: Urls, repo: Row, row: Row) -> GitRef:
    """Serialize a ref. An annotated tag is an object of its own."""
    annotated = refs.commit_of(row) != row["sha"]
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
