"""Payloads of issues and pull requests, and a platform that reports them, for tests."""

from typing import Any

from store_world import World

from store import Row
from store.clock import SECOND
from store.issues import issue_events, issues
from store.projection import projection_table

OCTO = {"login": "octo-cat", "id": 21031067, "type": "User"}
SHA = "6113728f27ae82c7b1a177c8d03f9e96e0adf246"
WHEN = "2026-11-20T10:00:00Z"


def issue(number: int = 1, **changed: Any) -> dict[str, Any]:
    """An issue in the platform's shape."""
    given = {
        "id": 444500000 + number,
        "number": number,
        "title": "Spelling error",
        "user": OCTO,
        "labels": [],
        "state": "open",
        "locked": False,
        "assignees": [],
        "milestone": None,
        "comments": 0,
        "created_at": "2026-11-20T09:00:00Z",
        "updated_at": WHEN,
        "closed_at": None,
        "author_association": "OWNER",
        "body": "",
    }
    return given | changed


def pull(number: int = 2, **changed: Any) -> dict[str, Any]:
    """A pull request in the platform's shape, from the branch `changes`."""
    own = {"full_name": "ada/engine"}
    ends = {
        "head": {"ref": "changes", "sha": SHA, "repo": own},
        "base": {"ref": "main", "sha": "f" * 40, "repo": own},
    }
    return issue(number, **ends, draft=False, merged=False) | changed


class Platform:
    """Projects a platform's events: signed by the source `source_id`, or unsigned if that is 0."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.source_id = 0
        self.repo_id: int = world.repo["id"]
        """0 if the repository was unknown when the event arrived."""

    def report(self, name: str, action: str | None = None, **payload: Any) -> None:
        event = {
            "id": 1,
            "name": name,
            "action": action,
            "repo_id": self.repo_id,
            "source_id": self.source_id,
            "received_at": self.world.now,
        }
        given = {"action": action, "sender": {"login": "robin", "type": "User"}, **payload}
        prepare = projection_table.PREPARED.get(name)
        if prepare is not None:
            prepare(given)
        self.world.store.write_sync(projection_table.project, event, given)

    def issue(self, number: int = 1) -> Row:
        row = self.world.store.read_sync(issues.get, self.world.repo["id"], number)
        assert row is not None
        return row

    def events(self, number: int = 1) -> list[Row]:
        """The events of an issue, oldest first."""
        return self.world.store.read_sync(
            issue_events.of_issue, self.issue(number)["id"], limit=100, offset=0
        )

    def timeline(self, number: int = 1) -> list[str]:
        """The kinds of the entries in an issue's timeline, in order."""
        rows = self.world.store.read_sync(
            issue_events.timeline, self.issue(number)["id"], limit=100, offset=0
        )
        return [row["kind"] for row in rows]


def later(seconds: int) -> int:
    """The time `seconds` after WHEN, in microseconds."""
    return 1_795_168_800 * SECOND + seconds * SECOND
