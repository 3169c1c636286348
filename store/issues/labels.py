"""Labels of a repository's issues."""

import re
from collections.abc import Iterable
from typing import Any

from store.database import paging, payload_reader, upsert
from store.database.connection import ENDLESS, Connection, Row, json_array, prefixed
from store.database.paging import ListedRows
from store.repositories import deletions

COLUMNS = (
    "id, repo_id, name, name_key, foreign_id, color, description, is_default, created_at,"
    " updated_at, changed_at"
)
KIND = "label"
GREY = "ededed"
ON_ISSUE = "SELECT i.label_id AS id FROM issue_label i WHERE i.issue_id = :issue_id"


def _color(value: Any) -> Any:
    plain = value.removeprefix("#").lower() if isinstance(value, str) else ""
    return plain if re.fullmatch(r"[0-9a-f]{6}", plain) else payload_reader.INVALID


FIELDS: payload_reader.Readers = {
    "name": payload_reader.text(255),
    "foreign_id": ("id", payload_reader.number),
    "color": _color,
    "description": payload_reader.nullable(payload_reader.text(1_000)),
    "is_default": ("default", payload_reader.flag),
}


def by_name(db: Connection, repo_id: int, name: str, *, lock: bool = False) -> Row | None:
    """Return the label with this name, in any case, or None. With `lock`, lock it."""
    return db.one(
        f"SELECT {COLUMNS} FROM label WHERE repo_id = :repo_id AND name_key = :name_key"
        f"{db.for_change if lock else ''}",
        repo_id=repo_id,
        name_key=name.lower(),
    )


def on_issue(db: Connection, issue_id: int, name: str) -> Row | None:
    """Return the label with this name, in any case, if it is on the issue."""
    rows = of_issues(db, [issue_id]).get(issue_id, [])
    return next((row for row in rows if row["name_key"] == name.lower()), None)


def by_names(db: Connection, repo_id: int, names: Iterable[str]) -> dict[str, Row]:
    """Return the labels with these names, in any case, by name in lower case."""
    columns = prefixed("l", COLUMNS)
    rows = db.all(
        f"SELECT {columns} FROM {db.each('names', wanted='text')} AS w"
        " JOIN label l ON l.repo_id = :repo_id AND l.name_key = w.wanted",
        names=json_array({name.lower() for name in names}),
        repo_id=repo_id,
    )
    return {row["name_key"]: row for row in rows}


def create(db: Connection, repo_id: int, name: str) -> Row:
    """Create a label in the default color, or return the one with this name."""
    _add(db, repo_id, {"name": name, "name_key": name.lower()})
    row = by_name(db, repo_id, name)
    assert row is not None, "it is there now"
    return row


def put(db: Connection, repo: Row, given: dict[str, Any], event: Row) -> int | None:
    """Create or update the label in a payload.

    Return its id, or None if it is not valid or was deleted later. A label that an operation
    changed later stays. A renamed label is recognized by the platform's id, which only one label
    of the repository has.
    """
    fields = payload_reader.read_fields(given, FIELDS)
    if not fields.get("name"):
        return None
    fields["name_key"] = fields["name"].lower()
    before = _find(db, repo["id"], fields)
    if before is not None and upsert.differs(before, fields):
        # An operation may change it at this moment. Most payloads change nothing, and lock nothing.
        before = _find(db, repo["id"], fields, lock=True)
    another = before and fields.get("foreign_id", before["foreign_id"]) != before["foreign_id"]
    # A label without an id may come from an operator, who brings back what was deleted.
    known = before and before["foreign_id"] in (None, fields.get("foreign_id"))
    if not known and deletions.is_gone(db, repo["id"], KIND, fields, event):
        return None
    if before is None:
        return _add(db, repo["id"], fields)
    if upsert.is_overtaken(before, fields, event):
        return _of_former(db, repo, fields, event, before)
    if another:
        db.execute(
            "UPDATE label SET foreign_id = NULL"
            " WHERE repo_id = :repo_id AND foreign_id = :foreign_id",
            repo_id=repo["id"],
            foreign_id=fields["foreign_id"],
        )
    upsert.update(db, "label", before, fields)
    found: int = before["id"]
    return found


def _of_former(db: Connection, repo: Row, fields: Row, event: Row, namesake: Row) -> int | None:
    """Return the id of the label that a payload from before an operation's change is about.

    It is `namesake`, unless that got the name of the platform's label since.
    """
    own = _by_foreign_id(db, repo["id"], fields)
    if own is None and deletions.is_gone(db, repo["id"], KIND, fields, event):
        return None
    return int((own or namesake)["id"])


def merge_renamed(db: Connection, repo_id: int, former: str, given: dict[str, Any]) -> None:
    """Replace a platform's label, also on issues, if another label has its new name.

    The platform must have deleted or renamed the other one, because names are unique there.
    """
    fields = payload_reader.read_fields(given, FIELDS)
    old, new = (by_name(db, repo_id, name) for name in (former, fields.get("name", "")))
    if old is None or new is None or old["id"] == new["id"]:
        return
    # After that, another label can have got the former name.
    if old["foreign_id"] is None or old["foreign_id"] != fields.get("foreign_id"):
        return
    db.execute(
        "INSERT INTO issue_label (issue_id, label_id) SELECT issue_id, :new FROM issue_label"
        " WHERE label_id = :old ON CONFLICT DO NOTHING",
        old=old["id"],
        new=new["id"],
    )
    delete(db, repo_id, former)


def _find(db: Connection, repo_id: int, fields: Row, *, lock: bool = False) -> Row | None:
    """Return the label in a payload, by its name or else by the platform's id."""
    found = by_name(db, repo_id, fields["name"], lock=lock)
    return found or _by_foreign_id(db, repo_id, fields, lock=lock)


def _by_foreign_id(db: Connection, repo_id: int, fields: Row, *, lock: bool = False) -> Row | None:
    if "foreign_id" not in fields:
        return None
    return db.one(
        f"SELECT {COLUMNS} FROM label WHERE repo_id = :repo_id AND foreign_id = :foreign_id"
        f"{db.for_change if lock else ''}",
        repo_id=repo_id,
        foreign_id=fields["foreign_id"],
    )


def _add(db: Connection, repo_id: int, fields: Row) -> int | None:
    times = {"created_at": db.now, "updated_at": db.now}
    values = {"repo_id": repo_id, "color": GREY, **fields, **times}
    made = upsert.insert_if_absent(db, "label", values, "repo_id, name_key")
    if made is not None:
        return made
    row = by_name(db, repo_id, fields["name"])
    return None if row is None else row["id"]


def delete(db: Connection, repo_id: int, name: str) -> bool:
    """Delete a label, also from the issues. Return False if there is none with this name."""
    return db.delete("label", repo_id=repo_id, name_key=name.lower()) > 0


def delete_reported(db: Connection, repo_id: int, given: dict[str, Any], event: Row) -> None:
    """Delete the label in a payload, also under a former name.

    Another one that has got its name since stays, also one from an operation.
    """
    fields = payload_reader.read_fields(given, FIELDS)
    deletions.put_reported(db, repo_id, KIND, fields)
    row = _by_foreign_id(db, repo_id, fields) or by_name(db, repo_id, fields.get("name", ""))
    if row is None or (row["foreign_id"] is None and upsert.is_overtaken(row, fields, event)):
        return
    if row["foreign_id"] in (None, fields.get("foreign_id", row["foreign_id"])):
        delete(db, repo_id, row["name"])


def of_issues(db: Connection, issue_ids: Iterable[int]) -> dict[int, list[Row]]:
    """Return issue id to its labels, by name. Issues without any are left out."""
    columns = prefixed("l", COLUMNS)
    rows = db.all(
        f"SELECT i.issue_id, {columns} FROM {db.each('ids', wanted='integer')} AS w"
        " JOIN issue_label i ON i.issue_id = w.wanted JOIN label l ON l.id = i.label_id"
        " ORDER BY l.name_key",
        ids=json_array(set(issue_ids)),
    )
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row.pop("issue_id"), []).append(row)
    return found


def page_on_issue(db: Connection, issue: Row, *, total: int, limit: int, offset: int) -> list[Row]:
    """Return a page of an issue's labels, by name. `total` is the result of `count_on_issue`."""
    columns = prefixed("l", COLUMNS)
    of_repository = "l.repo_id = :repo_id"
    rows = ListedRows("label", "l", "l.name_key", "l.id", ON_ISSUE, of_repository)
    return paging.listed_page(
        db,
        f"SELECT {columns} FROM label l",
        rows,
        total=total,
        limit=limit,
        offset=offset,
        issue_id=issue["id"],
        repo_id=issue["repo_id"],
    )


def count_on_issue(db: Connection, issue_id: int) -> int:
    return db.number(f"SELECT count(*) FROM ({ON_ISSUE}) AS f", issue_id=issue_id)


def list_all(db: Connection, repo_id: int) -> list[Row]:
    """Return a repository's labels, by name."""
    return page(db, repo_id, limit=ENDLESS, offset=0)


def page(db: Connection, repo_id: int, *, limit: int, offset: int) -> list[Row]:
    """Return a page of a repository's labels, by name."""
    return paging.page(
        db,
        f"SELECT {COLUMNS} FROM label WHERE repo_id = :repo_id ORDER BY name_key",
        limit,
        offset,
        repo_id=repo_id,
    )


def count(db: Connection, repo_id: int, most: int) -> int:
    """Return how many labels a repository has, counted up to `most`."""
    return paging.count(db, "SELECT id FROM label WHERE repo_id = :repo_id", most, repo_id=repo_id)
