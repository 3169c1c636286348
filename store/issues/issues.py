"""Issues, and the parts that pull requests share with them. Both share a repository's numbers."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

import orjson

from store.accounts import placeholder_accounts
from store.database import payload_reader, row_lookup, upsert
from store.database.connection import Connection, Row, json_array
from store.issues import (
    comment_counts,
    issue_events,
    labels,
    milestones,
    open_counts,
    own_changes,
    own_numbers,
)
from store.issues.issue_field_options import COLORS
from store.issues.own_changes import PARTS, OwnChanges
from store.repositories import repository_names
from store.repositories.author_association import ASSOCIATIONS

COLUMNS = (
    "id, repo_id, number, foreign_id, is_pull, title, body, state, state_reason, author_id,"
    " author_association, closed_by_id, milestone_id, locked, lock_reason, comments,"
    " comments_seen, comments_unseen, closed_at, created_at, updated_at, reported_at, changed_at,"
    " deleted_at, moved_to, moved_number, moved_repo_id, type, type_key"
)
StateReason = Literal["completed", "reopened", "not_planned", "duplicate"]
REASONS: tuple[str, ...] = get_args(StateReason)
CLOSING_REASONS = ("completed", "not_planned", "duplicate")
MOST_BODY = 262_144
FIELDS: payload_reader.Readers = {
    "foreign_id": ("id", payload_reader.number),
    "title": payload_reader.text(1_024),
    "body": payload_reader.nullable(payload_reader.text(MOST_BODY)),
    "state": payload_reader.one_of("open", "closed"),
    "state_reason": payload_reader.nullable(payload_reader.one_of(*REASONS)),
    "author_association": payload_reader.one_of(*ASSOCIATIONS),
    "locked": payload_reader.flag,
    "lock_reason": ("active_lock_reason", payload_reader.nullable(payload_reader.text(100))),
    "closed_at": payload_reader.nullable(payload_reader.timestamp),
    **payload_reader.TIMES,
}
TYPE: payload_reader.Readers = {
    "id": payload_reader.number,
    "name": payload_reader.text(255, 1),
    "description": payload_reader.nullable(payload_reader.text(1_000)),
    "color": payload_reader.nullable(payload_reader.one_of(*COLORS)),
}
NAMED = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
PEOPLE = {"author_id": "user", "closed_by_id": "closed_by"}


def get(db: Connection, repo_id: int, number: int, *, lock: bool = False) -> Row | None:
    """Return the issue or pull request with this number, or None.

    Deleted ones (`deleted_at`) and ones moved to another repository (`moved_to`, `moved_number`)
    are included. With `lock`, it is locked until the transaction ends.
    """
    then = db.for_update if lock else ""
    return db.one(
        f"SELECT {COLUMNS} FROM issue WHERE repo_id = :repo_id AND number = :number{then}",
        repo_id=repo_id,
        number=number,
    )


def of(db: Connection, issue_ids: Iterable[int]) -> dict[int, Row]:
    return row_lookup.by_id(db, f"SELECT {COLUMNS} FROM issue WHERE id", issue_ids)


def by_number(db: Connection, repo_id: int, numbers: Iterable[int]) -> dict[int, Row]:
    """Return the issues and pull requests with these numbers, by number. `get` says which."""
    rows = db.all(
        f"SELECT {COLUMNS} FROM issue WHERE repo_id = :repo_id AND number {db.among('numbers')}",
        numbers=json_array(set(numbers)),
        repo_id=repo_id,
    )
    return {row["number"]: row for row in rows}


def put(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> int | None:
    """Create or update the issue in a payload, with its labels, milestone and assignees.

    The parts that an operation changed later stay. Return its id, or None if the payload is not
    valid.
    """
    number = payload_reader.read_field(given, "number", payload_reader.int32)
    if number is None:
        return None
    fields = payload_reader.read_fields(given, FIELDS)
    if payload_reader.read_object(given, "pull_request") is not None:
        fields["is_pull"] = 1
    before = get(db, repo["id"], number, lock=True)
    if before and (before["deleted_at"] or upsert.is_outdated(before, fields)):
        return int(before["id"])
    own = own_changes.settle(db, before, fields, event)
    fields |= _people(db, given) | _milestone(db, repo, given, event) | _type(given)
    if is_before_closing(before, fields, event):
        fields = {name: value for name, value in fields.items() if PARTS.get(name) != "state"}
    fields |= _consequences(before, fields)
    issue_id = _write(db, repo["id"], number, before, own.merged(fields))
    _set(db, repo, issue_id, given, event, own)
    comments = payload_reader.read_field(given, "comments", payload_reader.int32)
    comment_counts.report(db, issue_id, before, comments)
    return issue_id


def is_before_closing(before: Row | None, fields: Mapping[str, Any], event: Row) -> bool:
    """Return whether the payload is from the second in which the issue closed, but before it.

    A comment and the closing after it are two events, which can pass each other.
    """
    if before is None or event["action"] == "reopened":
        return False
    closed = before["state"] == "closed" and fields.get("state") == "open"
    return closed and bool(before["reported_at"] == fields.get("reported_at", 0))


def _consequences(before: Row | None, fields: Row) -> Row:
    """Return what a new state means for members that the payload leaves out, as forges do."""
    found: Row = {}
    if fields.get("state") == "open":
        found = {"closed_by_id": None, "closed_at": None}
    if before is not None and fields.get("state", before["state"]) != before["state"]:
        found["state_reason"] = fields.get("state_reason")
    return found


def changed_later(
    db: Connection, issue: Row | None, given: Mapping[str, Any], event: Row
) -> OwnChanges:
    """Return what operations changed after the state in a payload, which has `given`."""
    fields = payload_reader.read_fields(given, FIELDS)
    return own_changes.after(db, issue, fields, event)


def _people(db: Connection, given: dict[str, Any]) -> Row:
    met = {
        column: placeholder_accounts.get_or_create(db, given.get(name))
        for column, name in PEOPLE.items()
    }
    return {column: account_id for column, account_id in met.items() if account_id is not None}


def _type(given: dict[str, Any]) -> Row:
    if "type" not in given:
        return {}
    found = payload_reader.read_fields(payload_reader.read_part(given, "type"), TYPE)
    if not {"id", "name"} <= found.keys():
        return {"type": None, "type_key": None}
    return {"type": orjson.dumps(found).decode(), "type_key": found["name"].lower()}


def _milestone(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> Row:
    if "milestone" not in given:
        return {}
    reported = payload_reader.read_object(given, "milestone")
    if reported is None:
        return {"milestone_id": None}
    own_numbers.make_room(db, repo["id"], reported, "milestone")
    return {"milestone_id": milestones.put(db, repo, reported, event)}


def _write(db: Connection, repo_id: int, number: int, before: Row | None, fields: Row) -> int:
    if before is None:
        made = upsert.insert_with_number(db, "issue", repo_id, number, fields)
        if made is not None:
            open_counts.added(db, repo_id, fields)
            return made
        before = get(db, repo_id, number, lock=True)
        assert before is not None
    upsert.update(db, "issue", before, fields)
    _count(db, before, fields)
    return int(before["id"])


def _count(db: Connection, before: Row, changes: Mapping[str, Any]) -> None:
    """Count an issue anew in its repository and in its milestone."""
    open_counts.changed(db, before, changes)
    milestones.count_reported(db, before, changes)


def _set(
    db: Connection, repo: Row, issue_id: int, given: dict[str, Any], event: Row, own: OwnChanges
) -> None:
    assignees = placeholder_accounts.get_or_create_many(db, given, "assignees")
    if assignees is not None:
        table = ("issue_assignee", ("issue_id", "account_id"))
        upsert.set_related(db, *table, issue_id, assignees, own.items("assignee"))
    reported = payload_reader.read_object_list(given, "labels")
    if reported is not None:
        ids = [labels.put(db, repo, each, event) for each in reported]
        known = [each for each in ids if each is not None]
        table = ("issue_label", ("issue_id", "label_id"))
        upsert.set_related(db, *table, issue_id, known, own.items("label"))


def assignees(db: Connection, issue_ids: Iterable[int]) -> dict[int, list[int]]:
    """Return issue id to its assignees' account ids. Issues without any are left out."""
    rows = db.tuples(
        f"SELECT i.issue_id, i.account_id FROM {db.each('ids', wanted='integer')} AS w"
        " JOIN issue_assignee i ON i.issue_id = w.wanted ORDER BY i.issue_id, i.account_id",
        ids=json_array(set(issue_ids)),
    )
    found: dict[int, list[int]] = {}
    for issue_id, account_id in rows:
        found.setdefault(issue_id, []).append(account_id)
    return found


def delete(db: Connection, issue: Row) -> None:
    """Mark an issue as deleted and hide its events. Its number is not used again."""
    deleted = db.all(
        "UPDATE issue SET deleted_at = :now WHERE id = :id AND deleted_at IS NULL"
        " RETURNING repo_id, state, moved_to, milestone_id",
        id=issue["id"],
    )
    for one in deleted:
        _count(db, one | {"deleted_at": None}, {"deleted_at": db.now})
    issue_events.hide(db, issue["id"])


def move(db: Connection, issue: Row, repository: str, number: int) -> None:
    """Record that an issue moved to the repository `owner/name`, where it has `number`.

    Its events are hidden. Another repository may get that name later, also before this is repeated.
    """
    known = repository_names.find(db, *repository.partition("/")[::2])
    before = get(db, issue["repo_id"], issue["number"], lock=True)
    if before is not None:
        _count(db, before, {"moved_to": repository})
    db.execute(
        "UPDATE issue SET moved_to = :moved_to, moved_number = :number, moved_repo_id = coalesce("
        "CASE WHEN moved_to = :moved_to THEN moved_repo_id END, :moved_repo_id) WHERE id = :id",
        moved_to=repository,
        number=number,
        moved_repo_id=None if known is None else known["id"],
        id=issue["id"],
    )
    issue_events.hide(db, issue["id"])


def record_event(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Project the parts of an event beyond the issue: closing, deletion and transfer.

    It is an `issues` or a `pull_request` event.
    """
    parts = (payload_reader.read_object(payload, name) for name in ("issue", "pull_request"))
    reported = next(filter(None, parts), {})
    number = payload_reader.read_field(reported, "number", payload_reader.number)
    issue = None if number is None else get(db, repo["id"], number)
    if issue is None:
        return
    if event["action"] == "deleted":
        delete(db, issue)
    elif event["action"] == "closed" and event["sender_id"] is not None:
        fields = payload_reader.read_fields(reported, FIELDS)
        own = own_changes.after(db, issue, fields, event)
        # A late event may still say who did what a later payload has shown.
        same = fields.get("closed_at", 0) == issue["closed_at"]
        outdated = upsert.is_outdated(issue, fields) and not same
        if outdated or own.has("state") or issue["state"] == "open":
            return
        # The event describes the same change as the issue, so the issue's time stays.
        closing = {"closed_by_id": event["sender_id"], "updated_at": issue["updated_at"]}
        upsert.update(db, "issue", issue, closing)
    elif event["action"] == "transferred":
        _transferred(db, issue, payload_reader.read_part(payload, "changes"))


def _transferred(db: Connection, issue: Row, changes: dict[str, Any]) -> None:
    repository = payload_reader.read_part(changes, "new_repository")
    name = payload_reader.read_field(repository, "full_name", payload_reader.text(201))
    new = payload_reader.read_part(changes, "new_issue")
    number = payload_reader.read_field(new, "number", payload_reader.number)
    if name is not None and NAMED.fullmatch(name) and number is not None:
        move(db, issue, name, number)
