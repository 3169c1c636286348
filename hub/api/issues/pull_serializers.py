"""Serializer of pull requests, as far as they are known here: the issue, its head and its base."""

from collections.abc import Mapping, Sequence
from typing import Any

from hub.api.issues import issue_serializers
from hub.rest import serializers
from hub.rest.urls import Urls
from store import Connection, Row
from store.issues import pulls

# Replaces a pull request of which only the issue is known.
UNKNOWN: Row = dict.fromkeys(pulls.NAMES)
# Members of issues that pull requests do not have.
OF_ISSUES = frozenset(
    {"pull_request", "events_url", "timeline_url", "labels_url", "repository_url", "type"}
)


def several(
    urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]
) -> dict[int, dict[str, Any]]:
    """Serialize the pull requests of a repository, by issue id. `rows` are the issues."""
    issues = issue_serializers.several(urls, db, repo, rows)
    known = pulls.of_issues(db, issues)
    people = serializers.simple_users(urls, db, {row["merged_by_id"] for row in known.values()})
    return {
        issue_id: _one(urls, repo, issue, known.get(issue_id, UNKNOWN), people)
        for issue_id, issue in issues.items()
    }


def _one(
    urls: Urls,
    repo: Row,
    issue: Mapping[str, Any],
    row: Row,
    people: Mapping[int, serializers.SimpleUser],
) -> dict[str, Any]:
    shown = {name: value for name, value in issue.items() if name not in OF_ISSUES}
    links = issue.get("pull_request", {})
    return shown | {
        **{name: links[name] for name in ("url", "html_url", "diff_url", "patch_url") if links},
        "issue_url": issue["url"],
        "head": _end(repo, row["head_ref"], row["head_sha"], row["head_repo"]),
        "base": _end(repo, row["base_ref"], row["base_sha"], repo["full_name"]),
        "merged": row["merged_at"] is not None,
        "merged_at": serializers.time(row["merged_at"]),
        "merged_by": people.get(row["merged_by_id"]) if row["merged_by_id"] else None,
        "merge_commit_sha": row["merge_commit_sha"],
    }


def _end(repo: Row, ref: str | None, sha: str | None, of: str | None) -> dict[str, Any]:
    owner = of.partition("/")[0] if of else None
    here = of is not None and of.lower() == repo["full_name"].lower()
    named = {"full_name": of, "name": of.partition("/")[2]} if of else None
    return {
        "ref": ref,
        "sha": sha,
        "label": f"{owner}:{ref}" if owner else ref,
        "repo": {"id": repo["id"], **(named or {})} if here else named,
    }
