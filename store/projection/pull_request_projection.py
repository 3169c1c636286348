"""Projection of branches and commits onto their pull requests."""

from collections.abc import Iterator, Mapping
from typing import Any

from store.database import payload_reader, upsert
from store.database.connection import Connection, Row
from store.issues import issue_events, issue_references, pulls
from store.issues.issue_events import IssueEventData
from store.repositories import refs

# The limits of pull requests of a branch, and of commits of a push.
MOST_COMMITS = 250
MOST_MESSAGE = 16_384
# The limit of the characters of messages that a push writes. Each pull request has its own copy.
MOST_TEXT = 8_388_608
WHO = {"name": payload_reader.text(255), "email": payload_reader.text(255)}


def pushed(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Project a push.

    Its commits belong to the branch's open pull requests, and their messages may refer to issues.
    """
    ref = payload_reader.read_field(payload, "ref", payload_reader.text(300)) or ""
    commits = [*_commits(payload, event)]
    left = MOST_TEXT
    if ref.startswith(refs.BRANCHES):
        for pull in pulls.of_branch(db, repo, ref.removeprefix(refs.BRANCHES)):
            if pull["state"] == "open":
                _moved(db, pull, refs.get(db, repo["id"], ref))
                left -= sum(len(one.members["message"]) for one in commits)
                added = commits if left >= 0 else []
                issue_events.add(db, _issue(pull), [*_forced(payload, event), *added])
    issue_references.referenced(db, repo, commits)


def _moved(db: Connection, pull: Row, branch: Row | None) -> None:
    """Move the head of a pull request, unless a platform has reported it and moves its head."""
    if pull["foreign_id"] is None and branch is not None:
        upsert.update(db, "pull", pull, {"head_sha": branch["sha"]})


def _issue(pull: Row) -> Row:
    return {"id": pull["issue_id"], "repo_id": pull["repo_id"]}


def _forced(payload: Mapping[str, Any], event: Row) -> Iterator[IssueEventData]:
    after = payload_reader.read_field(payload, "after", payload_reader.text(64))
    if payload.get("forced") is True and after is not None and refs.SHA.fullmatch(after):
        said_at = refs.pushed_at(payload)
        yield IssueEventData.reported("head_ref_force_pushed", said_at, event, commit_id=after)


def _commits(payload: Mapping[str, Any], event: Row) -> Iterator[IssueEventData]:
    parts = payload.get("commits")
    for given in parts[:MOST_COMMITS] if isinstance(parts, list) else ():
        sha = (
            payload_reader.read_field(given, "id", payload_reader.text(64))
            if isinstance(given, dict)
            else None
        )
        if sha is None or not refs.SHA.fullmatch(sha):
            continue
        said_at = payload_reader.read_field(given, "timestamp", payload_reader.timestamp)
        yield IssueEventData.reported("committed", said_at, event, _commit(given), sha)


def _commit(given: Mapping[str, Any]) -> dict[str, Any]:
    author = _who(given, "author")
    return {
        "message": payload_reader.read_field(given, "message", payload_reader.text(MOST_MESSAGE))
        or "",
        "tree": payload_reader.read_field(given, "tree_id", payload_reader.text(64)),
        "author": author,
        "committer": _who(given, "committer") or author,
    }


def _who(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = payload_reader.read_fields(payload_reader.read_part(given, name), WHO)
    return found


def branch_gone(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Project the deletion of a branch. Two webhooks of a platform may report it."""
    for pull in _of_branch(db, repo, payload):
        if not _is_gone(db, pull):
            _add(db, pull, "head_ref_deleted", payload, event)


def branch_made(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Project the creation of a branch. After a deletion, it restores the head of pull requests."""
    for pull in _of_branch(db, repo, payload):
        if _is_gone(db, pull):
            _add(db, pull, "head_ref_restored", payload, event)


def _is_gone(db: Connection, pull: Row) -> bool:
    last = issue_events.last(db, pull["issue_id"], ("head_ref_deleted", "head_ref_restored"))
    return last == "head_ref_deleted"


def _add(db: Connection, pull: Row, kind: str, payload: Mapping[str, Any], event: Row) -> None:
    happening = IssueEventData.reported(kind, refs.pushed_at(payload), event)
    issue_events.add(db, _issue(pull), [happening])


def _of_branch(db: Connection, repo: Row, payload: Mapping[str, Any]) -> list[Row]:
    name = payload_reader.read_field(payload, "ref", payload_reader.text(300))
    if name is None or payload.get("ref_type") != "branch":
        return []
    return pulls.of_branch(db, repo, name)


def deployed(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Project a deployment of a commit that is the head of open pull requests."""
    given = payload_reader.read_part(payload, "deployment")
    sha = payload_reader.read_field(given, "sha", payload_reader.text(64))
    if sha is None or event["action"] not in (None, "created"):
        return
    said_at = payload_reader.read_field(given, "created_at", payload_reader.timestamp)
    happening = IssueEventData.reported("deployed", said_at, event)
    heads = pulls.of_heads(db, repo, [sha]).get(sha, ())
    issue_events.add_all(db, ((_issue(pull), happening) for pull in heads))
