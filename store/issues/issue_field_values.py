"""The values of an organization's fields on issues, one for each field."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import orjson

from store.database import paging, row_lookup
from store.database.connection import Connection, Row, json_array
from store.errors import Invalid

COLUMNS = "v.id, v.issue_id, v.field_id, v.value, f.name, f.data_type, f.visibility"
MOST_TEXT = 4_096
NUMBER = re.compile(r"[+-]?[0-9]{1,300}(\.[0-9]{1,300})?")


def at(code: str = "invalid") -> dict[str, Any]:
    """Return the position of an error in a request, for Invalid."""
    return {"field": "value", "code": code, "resource": "IssueFieldValue"}


@dataclass(frozen=True, slots=True)
class FieldAssignment:
    """A value to assign to a field: a text, number or date, or the ids of its options."""

    value: str | int | float | None = None
    options: tuple[int, ...] = ()


def assignment_of(field: Row, value: Any) -> FieldAssignment:
    """Convert a given value into an assignment for a field with its options.

    Options of a `multi_select` are an array of names, or one text with commas. Raises Invalid if
    the value does not have the field's type, or is not one of its options.
    """
    kind = field["data_type"]
    if kind == "single_select":
        return FieldAssignment(options=(_option(field, value),))
    if kind == "multi_select":
        chosen = {_option(field, name) for name in _names(field, value)}
        return FieldAssignment(options=tuple(sorted(chosen)))
    return FieldAssignment(READERS[kind](field, value))


def _wrong(field: Row, what: str) -> Invalid:
    return Invalid(f"{field['name']!r} has the type {field['data_type']}: {what}", **at())


def _text(field: Row, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(field, "its value must be a text")
    if len(value) > MOST_TEXT:
        raise _wrong(field, f"its value can have at most {MOST_TEXT:,} characters")
    return value


def _number(field: Row, value: Any) -> int | float:
    if isinstance(value, str) and NUMBER.fullmatch(value):
        value = float(value) if "." in value else int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(field, "its value must be a number")
    # The range of integers that every JSON implementation reads exactly.
    if not math.isfinite(value) or abs(value) > 2**53:
        raise _wrong(field, "its value must be a number between -2^53 and 2^53")
    return value


def _date(field: Row, value: Any) -> str:
    try:
        return date.fromisoformat(value).isoformat()
    except (TypeError, ValueError):
        raise _wrong(field, "its value must be an ISO 8601 date such as 2026-11-21") from None


READERS = {"text": _text, "number": _number, "date": _date}


def _names(field: Row, value: Any) -> Sequence[Any]:
    if isinstance(value, list) and value:
        return value
    if not isinstance(value, str):
        raise _wrong(field, "its value must be an array of one or more names of options")
    known = {option["name"] for option in field["options"]}
    # A name may contain a comma.
    return [value] if value in known else [name.strip() for name in value.split(",")]


def _option(field: Row, name: Any) -> int:
    for option in field["options"]:
        if option["name"] == name:
            return int(option["id"])
    if not isinstance(name, str):
        raise _wrong(field, "its value must be the name of an option")
    raise Invalid(f"{field['name']!r} has no option {name[:100]!r}", **at("missing"))


def of_issue(
    db: Connection, issue_id: int, *, members: bool = True, limit: int = 100, offset: int = 0
) -> list[Row]:
    """Return an issue's values by field: COLUMNS, the decoded value, and the chosen `options`.

    Unless `members` is true, only values that everybody may see are included.
    """
    rows = paging.page(
        db,
        f"SELECT {COLUMNS} FROM issue_field_value v JOIN issue_field f ON f.id = v.field_id"
        f" WHERE v.issue_id = :issue_id{_seen(members)}"
        " ORDER BY v.field_id",
        limit,
        offset,
        issue_id=issue_id,
    )
    return _whole(db, rows)


def of(db: Connection, value_ids: Sequence[int]) -> dict[int, Row]:
    """Return the values with these ids, by id, as `of_issue` does."""
    query = (
        f"SELECT {COLUMNS} FROM issue_field_value v JOIN issue_field f ON f.id = v.field_id"
        " WHERE v.id"
    )
    found = row_lookup.by_id(db, query, value_ids)
    return {row["id"]: row for row in _whole(db, [*found.values()])}


def _whole(db: Connection, rows: list[Row]) -> list[Row]:
    chosen = _chosen(db, [row["id"] for row in rows])
    return [
        row | {"value": orjson.loads(row["value"]), "options": chosen.get(row["id"], [])}
        for row in rows
    ]


def _seen(members: bool) -> str:
    return "" if members else " AND f.visibility = 'all'"


def _chosen(db: Connection, value_ids: Iterable[int]) -> dict[int, list[Row]]:
    rows = db.all(
        "SELECT c.value_id, o.id, o.name, o.color FROM issue_field_choice c"
        f" JOIN issue_field_option o ON o.id = c.option_id WHERE c.value_id {db.among('ids')}"
        " ORDER BY o.priority, o.id",
        ids=json_array(value_ids),
    )
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row.pop("value_id"), []).append(row)
    return found


def count(db: Connection, issue_id: int, *, members: bool) -> int:
    """Return how many values of an issue may be seen."""
    return db.number(
        "SELECT count(*) FROM issue_field_value v JOIN issue_field f ON f.id = v.field_id"
        f" WHERE v.issue_id = :issue_id{_seen(members)}",
        issue_id=issue_id,
    )


def get(db: Connection, issue_id: int, field_id: int) -> Row | None:
    """Return the value of a field on an issue, or None."""
    rows = of_issue(db, issue_id)
    return next((row for row in rows if row["field_id"] == field_id), None)


Change = tuple[Row | None, Row | None]
"""A value before and after a change. None means no value."""


def fill(
    db: Connection, issue: Row, wanted: Mapping[int, FieldAssignment], *, instead: bool = False
) -> list[Change]:
    """Assign values to fields, by field id. With `instead`, clear all other fields.

    Return the changes.
    """
    db.alone(f"issue field values of {issue['id']}")
    before = {row["field_id"]: row for row in of_issue(db, issue["id"])}
    if instead:
        _empty(db, issue["id"], before.keys() - wanted.keys())
    for field_id, one in wanted.items():
        known = before.get(field_id)
        if known is None or one != _filled(known):
            _put(db, issue["id"], field_id, one)
    return _changed(db, issue, before)


def empty(db: Connection, issue: Row, field_ids: Iterable[int]) -> list[Change]:
    """Clear fields. Return the changes."""
    db.alone(f"issue field values of {issue['id']}")
    before = {row["field_id"]: row for row in of_issue(db, issue["id"])}
    _empty(db, issue["id"], field_ids)
    return _changed(db, issue, before)


def _filled(row: Row) -> FieldAssignment:
    return FieldAssignment(row["value"], tuple(sorted(option["id"] for option in row["options"])))


def _changed(db: Connection, issue: Row, before: Mapping[int, Row]) -> list[Change]:
    after = {row["field_id"]: row for row in of_issue(db, issue["id"])}
    pairs = [(before.get(key), after.get(key)) for key in sorted(before.keys() | after.keys())]
    changed = [(one, other) for one, other in pairs if one != other]
    if changed:
        db.update("issue", issue["id"], updated_at=db.now)
    return changed


def _empty(db: Connection, issue_id: int, field_ids: Iterable[int]) -> None:
    db.delete_many("issue_field_value", "field_id", field_ids, issue_id=issue_id)


def _put(db: Connection, issue_id: int, field_id: int, one: FieldAssignment) -> None:
    value_id = db.value(
        "INSERT INTO issue_field_value (issue_id, field_id, value, created_at, updated_at)"
        " VALUES (:issue_id, :field_id, :value, :now, :now) ON CONFLICT (issue_id, field_id)"
        " DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at RETURNING id",
        issue_id=issue_id,
        field_id=field_id,
        value=orjson.dumps(one.value).decode(),
    )
    db.delete("issue_field_choice", value_id=value_id)
    if one.options:
        rows = [(value_id, option_id) for option_id in one.options]
        db.insert_many("issue_field_choice", "value_id, option_id", rows)
