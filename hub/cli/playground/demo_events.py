"""The demonstration's repository and three of its events, in the shapes that platforms use."""

from collections.abc import Callable
from typing import Any, cast

from hub.api.issues import issue_serializers
from hub.api.issues.body_forms import BodyForms
from hub.api.issues.issue_serializers import IssueRelations
from hub.http.media import PLAIN
from hub.rest.serializers import SimpleUser, node_id
from hub.rest.urls import Urls
from store import Row, clock

OWNER, NAME = "ada", "bell-tower"
BEFORE = "5d1c0f6a8e2b47936c1d5e8f0a7b3c9d2e4f6a81"
AFTER = "c9e7a1b35f8d2046e1b7c3a9d5f0826b4e7c1d93"
USER: Row = {"id": 1, "login": OWNER, "type": "User", "site_admin": False}
REPOSITORY: Row = {
    "id": 1,
    "name": NAME,
    "full_name": f"{OWNER}/{NAME}",
    "private": False,
    "owner": USER,
    "default_branch": "main",
}
WHEN = "2026-03-02T08:15:00Z"
AUTHOR = {"name": "Ada", "email": "ada@tower.example", "username": OWNER}
ISSUE: Row = {
    "id": 7,
    "number": 7,
    "title": "The treble rings a quarter tone flat",
    "body": "Heard from the bridge, twice this morning.",
    "is_pull": False,
    "state": "open",
    "locked": False,
    "comments": 0,
    "author_association": "OWNER",
    "created_at": clock.parse(WHEN),
    "updated_at": clock.parse(WHEN),
    **dict.fromkeys(("state_reason", "lock_reason", "milestone_id", "type")),
    **dict.fromkeys(("closed_at", "closed_by_id")),
}
LABEL: Row = {
    "id": 1,
    "name": "tuning",
    "color": "b45309",
    "description": None,
    "is_default": False,
}


def payload(event: str, urls: Urls, repository: Row, sender: Row) -> dict[str, Any]:
    """Return an example of an event of a repository. Without one, it has only these two members."""
    known = EVENTS.get(event)
    shown = {} if known is None else known(urls, repository, sender)
    return shown | {"repository": repository, "sender": sender}


def _push(urls: Urls, repository: Row, sender: Row) -> dict[str, Any]:
    commit = {
        "id": AFTER,
        "tree_id": "7f3b9d1c5e8a2046b9c3d7e1f5a80264c6e9b1d7",
        "distinct": True,
        "message": "Oil the tenor bell's bearings",
        "timestamp": WHEN,
        "url": urls.commit_page(repository, AFTER),
        "author": AUTHOR,
        "committer": AUTHOR,
        "added": [],
        "removed": [],
        "modified": ["bells/tenor.md"],
    }
    return {
        "ref": "refs/heads/main",
        "base_ref": None,
        "before": BEFORE,
        "after": AFTER,
        "created": False,
        "deleted": False,
        "forced": False,
        "pusher": {"name": OWNER, "email": "ada@tower.example"},
        "compare": f"{urls.page(repository)}/compare/{BEFORE[:12]}...{AFTER[:12]}",
        "commits": [commit],
        "head_commit": commit,
    }


def _issues(urls: Urls, repository: Row, sender: Row) -> dict[str, Any]:
    people = {sender["id"]: cast("SimpleUser", sender)}
    row = ISSUE | {"author_id": sender["id"]}
    relations = IssueRelations(people, {row["id"]: [LABEL]}, {}, {}, {}, {})
    shown = issue_serializers.issue(urls, repository, row, relations, BodyForms(PLAIN))
    return {"action": "opened", "issue": shown}


def _release(urls: Urls, repository: Row, sender: Row) -> dict[str, Any]:
    number, tag = 3, "v1.2.0"
    url = f"{urls.repository(repository)}/releases/{number}"
    release = {
        "id": number,
        "node_id": node_id("Release", number),
        "url": url,
        "assets_url": f"{url}/assets",
        "upload_url": f"{url}/assets{{?name,label}}",
        "html_url": f"{urls.page(repository)}/releases/tag/{tag}",
        "tarball_url": f"{urls.repository(repository)}/tarball/{tag}",
        "zipball_url": f"{urls.repository(repository)}/zipball/{tag}",
        "tag_name": tag,
        "target_commitish": "main",
        "name": "Eight bells",
        "body": "All eight bells ring in order.",
        "draft": False,
        "prerelease": False,
        "immutable": False,
        "author": sender,
        "assets": [],
        "created_at": WHEN,
        "updated_at": WHEN,
        "published_at": WHEN,
    }
    return {"action": "published", "release": release}


EVENTS: dict[str, Callable[[Urls, Row, Row], dict[str, Any]]] = {
    "push": _push,
    "issues": _issues,
    "release": _release,
}
