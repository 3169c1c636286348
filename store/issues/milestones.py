"""Milestones of a repository."""

from collections.abc import Iterable, Mapping
from typing import Any

from store.accounts import placeholder_accounts
from store.database import paging, payload_reader, row_lookup, upsert
from store.database.connection import Connection, Row
from store.repositories import deletions

COLUMNS = (
    "id, repo_id, number, foreign_id, title, description, state, creator_id, open_issues,"
    " closed_issues, open_here, closed_here, changed_at, edited_at, due_on, closed_at,"
    " created_at, updated_at, reported_at"
)
KIND = "milestone"
# The SQL of each order. Completeness is the share of closed issues.
ORDERS = {
    "due_on": f"coalesce(due_on, {2**62})",
    "completeness": "CASE WHEN open_issues + closed_issues = 0 THEN 0"
    " ELSE closed_issues * 1000 / (open_issues + closed_issues) END",
}
# The columns that operations change together with `edited_at`.
EDITED = {"title", "description", "state", "due_on", "closed_at", "updated_at"}
# The columns of an issue that decide which count of which milestone has it.
COUNTED = ("milestone_id", "state", "deleted_at", "moved_to")
FIELDS: payload_reader.Readers = {
    "foreign_id": ("id", payload_reader.number),
    "title": payload_reader.text(1_024),
    "description": payload_reader.nullable(payload_reader.text(65_536)),
    "state": payload_reader.one_of("open", "closed"),
    "open_issues": payload_reader.int32,
    "closed_issues": payload_reader.int32,
    "due_on": payload_reader.nullable(payload_reader.timestamp),
    "closed_at": payload_reader.nullable(payload_reader.timestamp),
    **payload_reader.TIMES,
}


def get(db: Connection, repo_id: int, number: int, *, lock: bool = False) -> Row | None:
    """Return the milestone with this number, or None. With `lock`, lock it."""
    return db.one(
        f"SELECT {COLUMNS} FROM milestone WHERE repo_id = :repo_id AND number = :number"
        f"{db.for_change if lock else ''}",
        repo_id=repo_id,
        number=number,
    )


def put(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> int | None:
    """Create or update the milestone in a payload.

    Return its id, or None if it is not valid or was deleted later.
    """
    number = payload_reader.read_field(given, "number", payload_reader.number)
    if number is None:
        return None
    fields = payload_reader.read_fields(given, FIELDS)
    creator_id = placeholder_accounts.get_or_create(db, given.get("creator"))
    if creator_id is not None:
        fields["creator_id"] = creator_id
    before = get(db, repo["id"], number)
    if before is not None and upsert.differs(before, fields):
        # An operation may change it at this moment. Most payloads change nothing, and lock nothing.
        before = get(db, repo["id"], number, lock=True)
    if before is None and deletions.is_gone(db, repo["id"], KIND, fields, event):
        return None
    if before is None:
        return _add(db, repo["id"], number, fields)
    if not upsert.is_outdated(before, fields):
        reported = _kept(before, fields, event) | _counts(before, fields, event)
        upsert.update(db, "milestone", before, reported)
    found: int = before["id"]
    return found


def _kept(before: Row, fields: Row, event: Row) -> Row:
    """Return the columns of a payload without those that an operation changed later."""
    if not upsert.is_overtaken(before, fields, event, "edited_at"):
        return fields
    return {name: value for name, value in fields.items() if name not in EDITED}


def _counts(before: Row, fields: Row, event: Row) -> Row:
    """Return the columns of the counts in a payload.

    If operations changed the counts later, the platform's number does not have their changes.
    """
    later = upsert.is_overtaken(before, fields, event)
    found = {}
    for state in ("open", "closed"):
        if f"{state}_issues" in fields:
            own = before[f"{state}_here"] if later else 0
            found[f"{state}_here"] = own
            found[f"{state}_issues"] = max(0, fields[f"{state}_issues"] + own)
    return found


def _add(db: Connection, repo_id: int, number: int, fields: Row) -> int | None:
    made = upsert.insert_with_number(db, "milestone", repo_id, number, fields)
    if made is not None:
        return made
    row = get(db, repo_id, number)
    return None if row is None else row["id"]


def delete_reported(db: Connection, repo_id: int, given: dict[str, Any]) -> None:
    """Delete the milestone in a payload, which its platform has deleted.

    One that was made here can have the same number, and stays.
    """
    fields = payload_reader.read_fields(given, FIELDS)
    deletions.put_reported(db, repo_id, KIND, fields)
    number = payload_reader.read_field(given, "number", payload_reader.number)
    row = None if number is None else get(db, repo_id, number)
    if row is not None and _made_here(db, row["id"]) is None:
        delete(db, repo_id, row["number"])


def delete(db: Connection, repo_id: int, number: int) -> bool:
    """Delete a milestone, also from its issues. Return False if there is none with this number."""
    return db.delete("milestone", repo_id=repo_id, number=number) > 0


def of(db: Connection, milestone_ids: Iterable[int]) -> dict[int, Row]:
    return row_lookup.by_id(db, f"SELECT {COLUMNS} FROM milestone WHERE id", milestone_ids)


def page(
    db: Connection,
    repo_id: int,
    *,
    state: str | None,
    sort: str = "due_on",
    ascending: bool = True,
    limit: int,
    offset: int,
) -> list[Row]:
    """Return a page of a repository's milestones: open ones, closed ones, or (None) all.

    Milestones without a due date come last if `ascending`, and first otherwise.
    """
    how = "ASC" if ascending else "DESC"
    where, given = _in_state(repo_id, state)
    return paging.page(
        db,
        f"SELECT {COLUMNS} FROM milestone WHERE {where}"
        f" ORDER BY {ORDERS[sort]} {how}, number {how}",
        limit,
        offset,
        **given,
    )


def count(db: Connection, repo_id: int, *, state: str | None, most: int) -> int:
    """Return how many milestones `page` can return, counted up to `most`."""
    where, given = _in_state(repo_id, state)
    return paging.count(db, f"SELECT id FROM milestone WHERE {where}", most, **given)


def _in_state(repo_id: int, state: str | None) -> tuple[str, Row]:
    return paging.conditions({"repo_id = :repo_id": repo_id, "state = :state": state})


def count_issue(db: Connection, milestone_id: int | None, state: str, number: int) -> None:
    """Add a number of open or closed issues to a milestone's count."""
    kind = "open" if state == "open" else "closed"
    column = f"{kind}_issues"
    db.execute(
        f"UPDATE milestone SET {kind}_here = {kind}_here + :number, changed_at = :now, {column} ="
        f" CASE WHEN {column} + :number < 0 THEN 0 ELSE {column} + :number END WHERE id = :id",
        id=milestone_id,
        number=number,
    )


def count_reported(db: Connection, before: Row, changes: Mapping[str, Any]) -> None:
    """Count a change of an issue that an event reports, in the milestones that were made here.

    A platform reports the counts of its own milestones. `before` has the columns of the issue as
    they were, locked.
    """
    after = {**before, **changes}
    if all(after[name] == before[name] for name in COUNTED):
        return
    for row, number in ((before, -1), (after, 1)):
        own = None
        if row["deleted_at"] is None and row["moved_to"] is None:
            own = _made_here(db, row["milestone_id"])
        if own is not None:
            count_issue(db, own, row["state"], number)


def _made_here(db: Connection, milestone_id: int | None) -> int | None:
    """Return the id of a milestone that an operation made and no platform knows, or None."""
    query = "SELECT id FROM milestone WHERE id = :id AND made_here = 1 AND foreign_id IS NULL"
    return None if milestone_id is None else db.optional_number(query, id=milestone_id)


def recount(db: Connection, repo_id: int) -> None:
    """Count the issues of milestones that do not come from a platform."""
    counted = (
        "(SELECT count(*) FROM issue i WHERE i.milestone_id = milestone.id AND i.state = '{}'"
        " AND i.deleted_at IS NULL AND i.moved_to IS NULL)"
    )
    db.execute(
        f"UPDATE milestone SET open_issues = {counted.format('open')},"
        f" closed_issues = {counted.format('closed')}"
        " WHERE repo_id = :repo_id AND foreign_id IS NULL",
        repo_id=repo_id,
    )
