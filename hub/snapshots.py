"""Serializers of the present state of resources, for events that report it once more.

These are the resources whose changes platforms report. The groups of operations declare the others.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hub.api.issues import issue_part_serializers, issue_serializers
from hub.api.pulls import line_comment_serializers, pull_serializers, review_serializers
from hub.api.pulls.pull_serializers import PullRequest
from hub.api.repositories import invitation_serializers
from hub.rest import repository_serializers, serializers
from hub.rest.event_payloads import sent_by
from hub.rest.group import SnapshotSerializer
from hub.rest.urls import Urls
from store import Connection, Row
from store.delivery.outbox import SnapshotEvent
from store.issues import issues

# Platforms send the former values of changed fields with the action `edited`; a snapshot has none.
UNCHANGED: dict[str, Any] = {"changes": {}}


def _repository(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    return [SnapshotEvent("repository.edited", repo["id"], UNCHANGED) for _ in rows]


def _ref(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    return [SnapshotEvent("create", repo["id"], _created(repo, row)) for row in rows]


def _created(repo: Row, row: Row) -> dict[str, Any]:
    _, kind, name = row["name"].split("/", 2)
    return {
        "ref": name,
        "ref_type": "tag" if kind == "tags" else "branch",
        "full_ref": row["name"],
        "sha": row["sha"],
        "master_branch": repo["default_branch"],
        "description": repo["description"],
        "pusher_type": "user",
    }


def _label(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    shown = [issue_part_serializers.label(urls, repo, row) for row in rows]
    return [SnapshotEvent("label.edited", repo["id"], UNCHANGED | {"label": one}) for one in shown]


def _milestone(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    people = serializers.simple_users(urls, db, {row["creator_id"] for row in rows})
    shown = [issue_part_serializers.milestone(urls, repo, row, people) for row in rows]
    return [
        SnapshotEvent("milestone.edited", repo["id"], UNCHANGED | {"milestone": one})
        for one in shown
    ]


def _collaborator(
    urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]
) -> list[SnapshotEvent]:
    people = serializers.simple_users(urls, db, {row["account_id"] for row in rows})
    found = []
    for row in rows:
        changes = invitation_serializers.role_changes({"to": row["role"]})
        payload = {"member": people[row["account_id"]], "changes": changes}
        found.append(SnapshotEvent("member.added", repo["id"], payload))
    return found


def _issue(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    shown = issue_serializers.several(urls, db, repo, rows)
    return [
        SnapshotEvent(
            "issues.edited", repo["id"], _by(shown[row["id"]]) | {"issue": shown[row["id"]]}
        )
        for row in rows
    ]


def _by(shown: Mapping[str, Any]) -> dict[str, Any]:
    return UNCHANGED | sent_by(shown["user"])


def _pull(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    shown = _pulls(urls, db, repo, rows)
    return [
        SnapshotEvent(
            "pull_request.edited",
            repo["id"],
            _by(one) | {"number": one["number"], "pull_request": one},
        )
        for one in shown.values()
    ]


def _pulls(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> Mapping[int, PullRequest]:
    def serialize_repositories(found: Sequence[Row]) -> Sequence[Mapping[str, Any]]:
        return repository_serializers.detailed(urls, db, found)

    return pull_serializers.several(urls, db, repo, rows, serialize_repositories)


def _comment(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    found = _issues_of(db, rows)
    about = issue_serializers.several(urls, db, repo, [*found.values()])
    known = {row[name] for row in rows for name in ("author_id", "pinned_by_id")}
    people = serializers.simple_users(urls, db, known)
    states = []
    for row in rows:
        shown = issue_part_serializers.comment(urls, repo, found[row["issue_id"]], row, people)
        payload = _by(shown) | {"issue": about[row["issue_id"]], "comment": shown}
        states.append(SnapshotEvent("issue_comment.edited", repo["id"], payload))
    return states


def _issues_of(db: Connection, rows: Sequence[Row]) -> dict[int, Row]:
    return issues.of(db, {row["issue_id"] for row in rows})


def _on_pull(event: str, member: str, one: Callable[..., Mapping[str, Any]]) -> SnapshotSerializer:
    """Return the serializer of comments or reviews on pull requests.

    `one` serializes a single comment or review, which becomes the payload's `member`.
    """

    def states(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
        found = _issues_of(db, rows)
        about = _pulls(urls, db, repo, [*found.values()])
        people = serializers.simple_users(urls, db, {row["author_id"] for row in rows})
        snapshots = []
        for row in rows:
            author = people.get(row["author_id"])
            shown = one(urls, repo, found[row["issue_id"]], row, author)
            payload = _by(shown) | {"pull_request": about[row["issue_id"]], member: shown}
            snapshots.append(SnapshotEvent(event, repo["id"], payload))
        return snapshots

    return states


STATES: dict[str, SnapshotSerializer] = {
    "repository": _repository,
    "ref": _ref,
    "label": _label,
    "milestone": _milestone,
    "collaborator": _collaborator,
    "issue": _issue,
    "pull_request": _pull,
    "issue_comment": _comment,
    "review": _on_pull("pull_request_review.edited", "review", review_serializers.one),
    "line_comment": _on_pull(
        "pull_request_review_comment.edited", "comment", line_comment_serializers.one
    ),
}
"""Serializers by the names in `store.registry.snapshot_table`. Groups declare their own."""
