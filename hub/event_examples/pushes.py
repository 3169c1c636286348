"""Examples of a push, and of branches and tags that are created and deleted."""

from typing import Any

from hub.rest.urls import Urls
from store import Row, clock

BEFORE = "5d1c0f6a8e2b47936c1d5e8f0a7b3c9d2e4f6a81"
AFTER = "c9e7a1b35f8d2046e1b7c3a9d5f0826b4e7c1d93"
WHEN = "2026-03-02T08:15:00Z"
EMAIL = "ada@tower.example"


def push(urls: Urls, repository: Row, sender: Row) -> dict[str, Any]:
    author = {"name": "Ada", "email": EMAIL, "username": sender["login"]}
    commit = {
        "id": AFTER,
        "tree_id": "7f3b9d1c5e8a2046b9c3d7e1f5a80264c6e9b1d7",
        "distinct": True,
        "message": "Oil the tenor bell's bearings",
        "timestamp": WHEN,
        "url": urls.commit_page(repository, AFTER),
        "author": author,
        "committer": author,
        "added": [],
        "removed": [],
        "modified": ["bells/tenor.md"],
    }
    return {
        "ref": f"refs/heads/{main(repository)}",
        "base_ref": None,
        "before": BEFORE,
        "after": AFTER,
        "created": False,
        "deleted": False,
        "forced": False,
        "pusher": {"name": sender["login"], "email": EMAIL},
        "compare": f"{urls.page(repository)}/compare/{BEFORE[:12]}...{AFTER[:12]}",
        "commits": [commit],
        "head_commit": commit,
        "repository": _pushed_repository(urls, repository),
    }


def _pushed_repository(urls: Urls, repository: Row) -> Row:
    """Return a repository as pushes have it. Receivers with types refuse other forms of its times.

    The URL is the one of its page, and the times are seconds since the epoch.
    """
    given = {name: repository.get(name) for name in ("created_at", "pushed_at")}
    times = {name: clock.parse(time) // clock.SECOND for name, time in given.items() if time}
    owner = repository["owner"]
    return (
        repository
        | times
        | {
            "url": urls.page(repository),
            "owner": {"name": owner["login"], "email": EMAIL, **owner},
            "master_branch": main(repository),
            "stargazers": repository.get("stargazers_count", 0),
        }
    )


def create(urls: Urls, repository: Row, sender: Row) -> dict[str, Any]:
    about = {"master_branch": main(repository), "description": None, "pusher_type": "user"}
    return {"ref": "v1.2.0", "ref_type": "tag", **about}


def delete(urls: Urls, repository: Row, sender: Row) -> dict[str, Any]:
    return {"ref": "quarter-bells", "ref_type": "branch", "pusher_type": "user"}


def main(repository: Row) -> str:
    """Return the name of the default branch, as a serialized repository has it."""
    return repository["default_branch"] or "main"
