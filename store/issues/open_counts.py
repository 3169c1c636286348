"""Stored numbers of open issues, because every full representation of a repository has its own.

Open pull requests count as open issues.
"""

from collections.abc import Mapping
from typing import Any

from store.database import upsert
from store.database.connection import Connection


def is_open(issue: Mapping[str, Any]) -> bool:
    """Return whether an issue is open and neither deleted nor moved. A new one is open."""
    gone = (issue.get(name) for name in ("deleted_at", "moved_to"))
    return issue.get("state", "open") == "open" and all(one is None for one in gone)


def added(db: Connection, repo_id: int, issue: Mapping[str, Any]) -> None:
    """Count an issue with these columns that was added to a repository."""
    _add(db, repo_id, int(is_open(issue)))


def changed(db: Connection, before: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    """Count a change of an issue's columns. `before` has them as they were, locked."""
    _add(db, before["repo_id"], is_open({**before, **changes}) - is_open(before))


def _add(db: Connection, repo_id: int, number: int) -> None:
    upsert.count_at_commit(db, "issue_tally", "repo_id", "open_issues", {(repo_id,): number})
