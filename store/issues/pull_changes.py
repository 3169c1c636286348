"""Pull requests that are made through the API."""

from collections.abc import Mapping
from typing import Any

import orjson

from store.database import upsert
from store.database.connection import Connection, Row
from store.errors import Invalid
from store.issues import issue_changes, issues, pull_details, pulls
from store.issues.issue_changes import IssueChange


def create(
    db: Connection, repo: Row, author_id: int, fields: Mapping[str, Any], ends: Mapping[str, Any]
) -> Row:
    """Create a pull request with the next free number. Return its issue.

    `fields` are columns of the issue, and `ends` columns of the pull request.
    """
    issue = issue_changes.create(db, repo, author_id, {**fields, "is_pull": 1})
    values = {"repo_id": repo["id"], "issue_id": issue["id"], **ends}
    upsert.insert_if_absent(db, "pull", values, "issue_id")
    return issues.of(db, [issue["id"]])[issue["id"]]


def details(*, maintainer_can_modify: bool) -> str:
    """Return what is known about a new pull request beyond its branches, in its stored form."""
    return pull_details.encode(
        {"maintainer_can_modify": int(maintainer_can_modify), "review_comments": 0}
    )


def open_between(db: Connection, repo: Row, head: tuple[str, str], base: str) -> Row | None:
    """Return the open pull request from a branch of a repository (its name) to `base`, or None.

    It locks the repository's open pull requests, so that none is opened meanwhile.
    """
    db.alone(f"open pull requests in {repo['id']}")
    full_name, branch = head
    return db.one(
        f"SELECT {pulls.COLUMNS} {pulls.FROM} WHERE p.repo_id = :repo_id"
        " AND p.head_ref = :branch AND lower(p.head_repo) = :head_repo AND p.base_ref = :base"
        " AND i.state = 'open' AND i.deleted_at IS NULL LIMIT 1",
        repo_id=repo["id"],
        branch=branch,
        head_repo=full_name.lower(),
        base=base,
    )


def set_maintainer_can_modify(db: Connection, issue: Row, allowed: bool) -> list[IssueChange]:
    """Set whether those who may write to the base may also write to the head of a pull request.

    Raises Invalid if only the issue of the pull request is known.
    """
    stored = db.value("SELECT details FROM pull WHERE issue_id = :id", id=issue["id"])
    if stored is None:
        raise Invalid(
            "The branches of this pull request are not known here.",
            field="maintainer_can_modify",
            resource="PullRequest",
        )
    before = bool(orjson.loads(stored).get("maintainer_can_modify"))
    if before == allowed:
        return []
    issue_changes.touch(db, issue, {}, [("maintainer_can_modify", 0)])
    db.execute(
        "UPDATE pull SET details = :details WHERE issue_id = :id",
        details=pull_details.read(db, {"maintainer_can_modify": allowed}, stored),
        id=issue["id"],
    )
    return [IssueChange("edited", before={"maintainer_can_modify": before})]
