"""Comments on issues and pull requests, reviews, and comments on a line."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from store.accounts import placeholder_accounts
from store.clock import SECOND
from store.database import payload_reader, row_lookup, upsert
from store.database.connection import Connection, Row, json_array
from store.issues import comment_counts
from store.repositories import deletions
from store.repositories.author_association import ASSOCIATIONS

COLUMNS = (
    "id, repo_id, issue_id, kind, number, author_id, author_association, body, state,"
    " commit_id, details, review_number, pinned_at, pinned_by_id, created_at, updated_at,"
    " reported_at, changed_at, made_here"
)
UNIQUE = "repo_id, kind, number"
MOST_BODY = 262_144
SHA = payload_reader.text(64)
FIELDS: payload_reader.Readers = {
    "author_association": payload_reader.one_of(*ASSOCIATIONS),
    "body": payload_reader.nullable(payload_reader.text(MOST_BODY)),
    "state": payload_reader.text(50),
    "commit_id": payload_reader.nullable(SHA),
    **payload_reader.TIMES,
}
# A review has one time only, which is used for both columns.
SUBMITTED: payload_reader.Readers = {
    "created_at": ("submitted_at", payload_reader.timestamp),
    "updated_at": ("submitted_at", payload_reader.timestamp),
}
SIDE = payload_reader.nullable(payload_reader.one_of("LEFT", "RIGHT"))
LINE = payload_reader.nullable(payload_reader.number)
DETAILS: payload_reader.Readers = {
    "path": payload_reader.text(4_096),
    "diff_hunk": payload_reader.text(65_536),
    "original_commit_id": SHA,
    "subject_type": payload_reader.one_of("line", "file"),
    "side": SIDE,
    "start_side": SIDE,
    **dict.fromkeys(
        (
            "position",
            "original_position",
            "line",
            "original_line",
            "start_line",
            "original_start_line",
            "in_reply_to_id",
            "pull_request_review_id",
        ),
        LINE,
    ),
}


def find(db: Connection, repo_id: int, kind: str, number: int) -> Row | None:
    """Return the comment with this public id (COLUMNS, details as a dict), or None."""
    row = db.find(f"SELECT {COLUMNS} FROM issue_comment", repo_id=repo_id, kind=kind, number=number)
    return None if row is None else decode_row(row)


def get(db: Connection, repo_id: int, number: int) -> Row | None:
    """Return the comment on an issue or pull request with this public id, or None.

    Comments on issues that were deleted or moved are not found.
    """
    return _there(db, find(db, repo_id, "comment", number))


def get_line(db: Connection, repo_id: int, number: int) -> Row | None:
    """Return the comment on a line with the platform's id, or None, as `get` does."""
    return _there(db, find(db, repo_id, "line", number))


def get_review(db: Connection, issue_id: int, number: int) -> Row | None:
    """Return the review of a pull request (its issue) with the platform's id, or None."""
    row = db.find(
        f"SELECT {COLUMNS} FROM issue_comment", issue_id=issue_id, kind="review", number=number
    )
    return None if row is None else decode_row(row)


def _there(db: Connection, row: Row | None) -> Row | None:
    return row if row is not None and _is_there(db, row["issue_id"]) else None


def _is_there(db: Connection, issue_id: int) -> bool:
    return db.exists(
        "SELECT 1 FROM issue WHERE id = :id AND deleted_at IS NULL AND moved_to IS NULL",
        id=issue_id,
    )


def of(db: Connection, ids: Iterable[int]) -> dict[int, Row]:
    return _by_id(db, f"id {db.among('ids')}", ids)


def pinned(db: Connection, issue_ids: Iterable[int]) -> dict[int, Row]:
    """Return issue id to its last pinned comment. Issues without one are left out."""
    rows = _by_id(db, f"issue_id {db.among('ids')} AND pinned_at IS NOT NULL", issue_ids)
    return {row["issue_id"]: row for row in rows.values()}


def _by_id(db: Connection, where: str, ids: Iterable[int]) -> dict[int, Row]:
    rows = db.all(
        f"SELECT {COLUMNS} FROM issue_comment WHERE {where} ORDER BY pinned_at",
        ids=json_array(set(ids)),
    )
    return {row["id"]: decode_row(row) for row in rows}


def decode_row(row: Row) -> Row:
    """Decode the JSON column `details` of a row."""
    return row | {"details": orjson.loads(row["details"])}


def put(
    db: Connection, issue: Row, kind: str, given: Mapping[str, Any], event: Row
) -> tuple[Row | None, Row | None]:
    """Create or update a comment. Return it as it was before and as it is now.

    The first is None if it is new. Both are None if the payload is not valid, or older than a
    deletion.
    """
    number = payload_reader.read_field(given, "id", payload_reader.number)
    if number is None:
        return None, None
    before = find(db, issue["repo_id"], kind, number)
    fields = _fields(db, kind, given, {} if before is None else before["details"])
    if before is None:
        _add(db, issue, kind, number, fields, event)
    elif not upsert.is_outdated(before, fields) and not upsert.is_overtaken(before, fields, event):
        kept = before | {"details": orjson.dumps(before["details"]).decode()}
        upsert.update(db, "issue_comment", kept, fields)
    return before, find(db, issue["repo_id"], kind, number)


def _fields(db: Connection, kind: str, given: Mapping[str, Any], before: Row) -> Row:
    fields: Row = payload_reader.read_fields(
        given, {**FIELDS, **(SUBMITTED if kind == "review" else {})}
    )
    if kind == "line":
        details = before | payload_reader.read_fields(given, DETAILS)
        fields["details"] = orjson.dumps(details).decode()
        fields["review_number"] = details.get("pull_request_review_id")
    author_id = placeholder_accounts.get_or_create(db, given.get("user"))
    return fields if author_id is None else {**fields, "author_id": author_id}


def _add(db: Connection, issue: Row, kind: str, number: int, fields: Row, event: Row) -> None:
    """Store a new comment, unless it was deleted after the state in the payload."""
    key = (issue["repo_id"], kind, number)
    deleted_at = deletions.find(db, *key)
    if deletions.hides(deleted_at, fields, event):
        if kind == "comment" and deleted_at == deletions.FINAL:
            comment_counts.went_unseen(db, issue["id"])
        return
    if deleted_at is not None:
        deletions.forget(db, *key)
    if _insert(db, issue, kind, number, fields) and kind == "comment":
        if deleted_at in (None, deletions.FINAL):
            comment_counts.came(db, issue["id"])
        else:
            comment_counts.add(db, issue["id"], 1)


def _insert(db: Connection, issue: Row, kind: str, number: int, fields: Row) -> bool:
    values = {
        "repo_id": issue["repo_id"],
        "issue_id": issue["id"],
        "kind": kind,
        "number": number,
        "author_association": "NONE",
        "details": "{}",
        "created_at": db.now,
        "updated_at": db.now,
        **fields,
    }
    return upsert.insert_if_absent(db, "issue_comment", values, UNIQUE) is not None


def pin(db: Connection, comment: Row, by: int | None, at: int | None) -> None:
    """Pin a comment to its issue, after others that were pinned in the same second.

    If `at` is None, unpin it.
    """
    if at is not None:
        others = "issue_id = :issue_id AND id <> :id AND pinned_at < :until"
        last = db.optional_number(
            f"SELECT max(pinned_at) FROM issue_comment WHERE {others}",
            issue_id=comment["issue_id"],
            id=comment["id"],
            until=at + SECOND,
        )
        at = max(at, (last or 0) + 1)
    db.update(
        "issue_comment", comment["id"], pinned_at=at, pinned_by_id=by if at is not None else None
    )


def delete(db: Connection, comment: Row) -> None:
    """Delete a comment for an operation. Raises Missing if it is gone."""
    row_lookup.delete(db, "issue_comment", comment, "comment")
    if not comment["made_here"]:
        key = (comment["repo_id"], comment["kind"], comment["number"])
        deletions.put(db, *key, db.now)


def delete_reported(db: Connection, issue: Row, kind: str, number: int, known: Row | None) -> None:
    """Delete a comment that its platform has deleted. If it never came, `known` is None."""
    key = (issue["repo_id"], kind, number)
    earlier = deletions.find(db, *key)
    deletions.put(db, *key, deletions.FINAL)
    if known is not None:
        db.delete("issue_comment", id=known["id"])
    if kind != "comment" or earlier == deletions.FINAL:
        return
    if known is not None and known["made_here"]:
        comment_counts.add(db, issue["id"], -1)
    elif known is None and earlier is None:
        comment_counts.went_unseen(db, issue["id"])
    else:
        comment_counts.went(db, issue["id"], listed=known is not None)
