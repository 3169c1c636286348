"""Comments on commits: on a whole commit, on a file in it, or on a line."""

from collections.abc import Iterable
from typing import Any

from store.accounts import placeholder_accounts
from store.database import paging, payload_reader, row_lookup, upsert
from store.database.connection import Connection, Row
from store.repositories import deletions, refs
from store.repositories.author_association import ASSOCIATIONS
from store.repositories.markdown import RenderedText

COLUMNS = (
    "id, repo_id, foreign_id, commit_id, path, position, line, author_id, author_association,"
    " body, html, plain, created_at, updated_at, reported_at, changed_at"
)
KIND = "commit"
MOST_BODY, MOST_PATH = 65_536, 4_096
BODY = payload_reader.text(MOST_BODY)


def _sha(value: Any) -> Any:
    return value if isinstance(value, str) and refs.SHA.fullmatch(value) else payload_reader.INVALID


FIELDS: payload_reader.Readers = {
    "commit_id": _sha,
    "path": payload_reader.nullable(payload_reader.text(MOST_PATH)),
    "position": payload_reader.nullable(payload_reader.number),
    "line": payload_reader.nullable(payload_reader.number),
    "author_association": payload_reader.one_of(*ASSOCIATIONS),
    "body": BODY,
    **payload_reader.TIMES,
}


def create(
    db: Connection,
    repo_id: int,
    author_id: int,
    commit_id: str,
    text: RenderedText,
    *,
    association: str = "NONE",
    path: str | None = None,
    position: int | None = None,
    line: int | None = None,
) -> Row:
    """Create a comment on the commit with this full SHA. Return it (COLUMNS)."""
    values = {
        "repo_id": repo_id,
        "commit_id": commit_id,
        "path": path,
        "position": position,
        "line": line,
        "author_id": author_id,
        "author_association": association,
        "created_at": db.now,
        "updated_at": db.now,
        **_forms(text),
    }
    made = upsert.insert_if_absent(db, "commit_comment", values, "repo_id, foreign_id")
    row = None if made is None else get(db, repo_id, made)
    assert row is not None
    return row


def _forms(text: RenderedText) -> Row:
    return {"body": text.source, "html": text.html, "plain": text.text}


def update(db: Connection, comment: Row, text: RenderedText) -> Row:
    """Replace a comment's text. Raises Missing if the comment is gone."""
    comment = row_lookup.lock(db, "commit_comment", COLUMNS, comment, "comment")
    changes = {**_forms(text), "updated_at": db.now, "changed_at": db.now}
    upsert.update(db, "commit_comment", comment, changes)
    return {**comment, **changes}


def delete(db: Connection, comment: Row) -> None:
    """Delete a comment. Raises Missing if it is gone."""
    row_lookup.delete(db, "commit_comment", comment, "comment")
    if comment["foreign_id"] is not None:
        deletions.put(db, comment["repo_id"], KIND, comment["foreign_id"], db.now)


def get(db: Connection, repo_id: int, comment_id: int) -> Row | None:
    """Return the comment with this id (COLUMNS), or None.

    A platform's comment is also found by its id on the platform.
    """
    found = db.find(f"SELECT {COLUMNS} FROM commit_comment", repo_id=repo_id, id=comment_id)
    return found or by_foreign_id(db, repo_id, comment_id)


def by_foreign_id(
    db: Connection, repo_id: int, foreign_id: int, *, lock: bool = False
) -> Row | None:
    """Return the comment with this id on the platform, or None.

    With `lock`, no other transaction can change it until this one ends.
    """
    then = db.for_change if lock else ""
    return db.one(
        f"SELECT {COLUMNS} FROM commit_comment"
        f" WHERE repo_id = :repo_id AND foreign_id = :foreign_id{then}",
        repo_id=repo_id,
        foreign_id=foreign_id,
    )


def of(db: Connection, ids: Iterable[int]) -> dict[int, Row]:
    return row_lookup.by_id(db, f"SELECT {COLUMNS} FROM commit_comment WHERE id", ids)


def page(
    db: Connection, repo_id: int, *, limit: int, offset: int, commit_id: str | None = None
) -> list[Row]:
    """Return a repository's comments, or a commit's, by id."""
    where, given = _where(repo_id, commit_id)
    return paging.page(
        db,
        f"SELECT {COLUMNS} FROM commit_comment WHERE {where} ORDER BY id",
        limit,
        offset,
        **given,
    )


def count(db: Connection, repo_id: int, *, most: int, commit_id: str | None = None) -> int:
    """Return how many comments `page` can return, counted up to `most`."""
    where, given = _where(repo_id, commit_id)
    return paging.count(db, f"SELECT id FROM commit_comment WHERE {where}", most, **given)


def _where(repo_id: int, commit_id: str | None) -> tuple[str, Row]:
    return paging.conditions({"repo_id = :repo_id": repo_id, "commit_id = :commit_id": commit_id})


def prepare(payload: dict[str, Any]) -> None:
    """Render the comment of a payload before the transaction that projects it."""
    given = payload_reader.read_part(payload, "comment")
    body = payload_reader.read_field(given, "body", BODY)
    if body is not None:
        given["rendered"] = RenderedText(body)


def put_reported(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Project a `commit_comment` event."""
    given = payload_reader.read_object(payload, "comment")
    if given is not None:
        put(db, repo, given, event)


def put(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> int | None:
    """Create or update the comment in a payload.

    Return its id, or None if it is not valid or was deleted later.
    """
    foreign_id = payload_reader.read_field(given, "id", payload_reader.number)
    if foreign_id is None:
        return None
    fields = payload_reader.read_fields(given, FIELDS)
    if "body" in fields:
        fields |= _forms(_rendered(given, fields["body"]))
    author_id = placeholder_accounts.get_or_create(db, given.get("user"))
    if author_id is not None:
        fields["author_id"] = author_id
    before = by_foreign_id(db, repo["id"], foreign_id, lock=True)
    if before is None:
        return _add(db, repo["id"], foreign_id, fields, event)
    if not upsert.is_outdated(before, fields) and not upsert.is_overtaken(before, fields, event):
        upsert.update(db, "commit_comment", before, fields)
    return int(before["id"])


def _rendered(given: dict[str, Any], body: str) -> RenderedText:
    found = given.get("rendered")
    # A payload from outside can only have JSON values here, and never a RenderedText.
    return found if isinstance(found, RenderedText) and found.source == body else RenderedText(body)


def _add(db: Connection, repo_id: int, foreign_id: int, fields: Row, event: Row) -> int | None:
    deleted_at = deletions.find(db, repo_id, KIND, foreign_id)
    if "commit_id" not in fields or deletions.hides(deleted_at, fields, event):
        return None
    if deleted_at is not None:
        deletions.forget(db, repo_id, KIND, foreign_id)
    values = {
        "repo_id": repo_id,
        "foreign_id": foreign_id,
        "author_association": "NONE",
        "body": "",
        "html": "",
        "plain": "",
        "created_at": db.now,
        "updated_at": db.now,
        **fields,
    }
    made = upsert.insert_if_absent(db, "commit_comment", values, "repo_id, foreign_id")
    if made is not None:
        return made
    row = by_foreign_id(db, repo_id, foreign_id)
    return None if row is None else int(row["id"])
