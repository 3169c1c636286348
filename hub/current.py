"""How things are that no group of operations changes: what platforms tell of, as it stands."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hub import issue_parts, issue_shapes, line_comment_shapes, pull_shapes, review_shapes, shapes
from hub.emitting import sent_by
from hub.group import Now
from hub.urls import Urls
from store import Connection, Row, issues
from store.own_events import State

# What platforms say with an event of this action: what it was before.
UNCHANGED: dict[str, Any] = {"changes": {}}


def _repository(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[State]:
    return [State("repository.edited", repo["id"], UNCHANGED) for _ in rows]


def _ref(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[State]:
    return [State("create", repo["id"], _created(repo, row)) for row in rows]


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


def _label(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[State]:
    shown = [issue_parts.label(urls, repo, row) for row in rows]
    return [State("label.edited", repo["id"], UNCHANGED | {"label": one}) for one in shown]


def _milestone(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[State]:
    people = shapes.people(urls, db, {row["creator_id"] for row in rows})
    shown = [issue_parts.milestone(urls, repo, row, people) for row in rows]
    return [State("milestone.edited", repo["id"], UNCHANGED | {"milestone": one}) for one in shown]


def _collaborator(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[State]:
    people = shapes.people(urls, db, {row["account_id"] for row in rows})
    found = []
    for row in rows:
        role = {"to": row["role"]}
        changes = {"permission": role, "role_name": role}
        payload = {"member": people[row["account_id"]], "changes": changes}
        found.append(State("member.added", repo["id"], payload))
    return found


def _issue(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[State]:
    shown = issue_shapes.several(urls, db, repo, rows)
    return [
        State("issues.edited", repo["id"], _by(shown[row["id"]]) | {"issue": shown[row["id"]]})
        for row in rows
    ]


def _by(shown: Mapping[str, Any]) -> dict[str, Any]:
    return UNCHANGED | sent_by(shown["user"])


def _pull(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[State]:
    shown = pull_shapes.several(urls, db, repo, rows)
    return [
        State(
            "pull_request.edited",
            repo["id"],
            _by(one) | {"number": one["number"], "pull_request": one},
        )
        for one in shown.values()
    ]


def _comment(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[State]:
    found = _issues_of(db, rows)
    about = issue_shapes.several(urls, db, repo, [*found.values()])
    known = {row[name] for row in rows for name in ("author_id", "pinned_by_id")}
    people = shapes.people(urls, db, known)
    states = []
    for row in rows:
        shown = issue_parts.comment(urls, repo, found[row["issue_id"]], row, people)
        payload = _by(shown) | {"issue": about[row["issue_id"]], "comment": shown}
        states.append(State("issue_comment.edited", repo["id"], payload))
    return states


def _issues_of(db: Connection, rows: Sequence[Row]) -> dict[int, Row]:
    return issues.of(db, {row["issue_id"] for row in rows})


def _on_pull(event: str, member: str, one: Callable[..., Mapping[str, Any]]) -> Now:
    """Of what people say on pull requests: `one` shows it."""

    def states(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[State]:
        found = _issues_of(db, rows)
        about = pull_shapes.several(urls, db, repo, [*found.values()])
        people = shapes.people(urls, db, {row["author_id"] for row in rows})
        told = []
        for row in rows:
            author = people.get(row["author_id"])
            shown = one(urls, repo, found[row["issue_id"]], row, author)
            payload = _by(shown) | {"pull_request": about[row["issue_id"]], member: shown}
            told.append(State(event, repo["id"], payload))
        return told

    return states


STATES: dict[str, Now] = {
    "repository": _repository,
    "ref": _ref,
    "label": _label,
    "milestone": _milestone,
    "collaborator": _collaborator,
    "issue": _issue,
    "pull_request": _pull,
    "issue_comment": _comment,
    "review": _on_pull("pull_request_review.edited", "review", review_shapes.one),
    "line_comment": _on_pull(
        "pull_request_review_comment.edited", "comment", line_comment_shapes.one
    ),
}
"""By the names in `store.resources`; those of groups declare theirs themselves."""
