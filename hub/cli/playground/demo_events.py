"""The demonstration's repository and three of its events, in the shapes that platforms use."""

from typing import Any

OWNER, NAME = "ada", "bell-tower"
BEFORE = "5d1c0f6a8e2b47936c1d5e8f0a7b3c9d2e4f6a81"
AFTER = "c9e7a1b35f8d2046e1b7c3a9d5f0826b4e7c1d93"
USER = {"id": 1, "login": OWNER, "type": "User", "site_admin": False}
REPOSITORY = {
    "id": 1,
    "name": NAME,
    "full_name": f"{OWNER}/{NAME}",
    "private": False,
    "owner": USER,
    "default_branch": "main",
}
COMMON: dict[str, Any] = {"repository": REPOSITORY, "sender": USER}

PAGE = f"https://tower.example/{OWNER}/{NAME}"
AUTHOR = {"name": "Ada", "email": "ada@tower.example", "username": OWNER}
COMMIT = {
    "id": AFTER,
    "tree_id": "7f3b9d1c5e8a2046b9c3d7e1f5a80264c6e9b1d7",
    "distinct": True,
    "message": "Oil the tenor bell's bearings",
    "timestamp": "2026-03-02T08:15:00Z",
    "url": f"{PAGE}/commit/{AFTER}",
    "author": AUTHOR,
    "committer": AUTHOR,
    "added": [],
    "removed": [],
    "modified": ["bells/tenor.md"],
}
PUSH = {
    "ref": "refs/heads/main",
    "base_ref": None,
    "before": BEFORE,
    "after": AFTER,
    "created": False,
    "deleted": False,
    "forced": False,
    "pusher": {"name": OWNER, "email": "ada@tower.example"},
    "compare": f"{PAGE}/compare/{BEFORE[:12]}...{AFTER[:12]}",
    "commits": [COMMIT],
    "head_commit": COMMIT,
    **COMMON,
}
ISSUES = {
    "action": "opened",
    "issue": {
        "id": 7,
        "number": 7,
        "title": "The treble rings a quarter tone flat",
        "state": "open",
        "user": USER,
        "labels": [{"id": 1, "name": "tuning", "color": "b45309"}],
        "body": "Heard from the bridge, twice this morning.",
    },
    **COMMON,
}
RELEASE = {
    "action": "published",
    "release": {
        "id": 3,
        "tag_name": "v1.2.0",
        "target_commitish": "main",
        "name": "Eight bells",
        "draft": False,
        "prerelease": False,
        "author": USER,
        "body": "All eight bells ring in order.",
    },
    **COMMON,
}
EVENTS: dict[str, dict[str, Any]] = {"push": PUSH, "issues": ISSUES, "release": RELEASE}
