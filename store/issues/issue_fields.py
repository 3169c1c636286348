"""Custom fields that an organization defines for issues, and their options."""

from collections.abc import Iterable, Sequence
from typing import Any

from store.database import row_lookup, upsert
from store.database.connection import Connection, Row, json_array
from store.errors import Invalid, existing
from store.issues import issue_field_options
from store.issues.issue_field_options import Option, named

COLUMNS = "id, organization_id, name, description, data_type, visibility, created_at, updated_at"
TYPES = ("text", "number", "date", "single_select", "multi_select")
VISIBILITIES = ("organization_members_only", "all")
MOST = 25
"""The limit of fields of an organization."""


def create(
    db: Connection,
    organization_id: int,
    name: str,
    data_type: str,
    *,
    description: str | None = None,
    visibility: str = VISIBILITIES[0],
    options: Sequence[Option] | None = None,
) -> Row:
    """Create a field. Return it (COLUMNS and its options).

    Raises Invalid if the name exists, if the options do not fit the type, or if a limit is
    exceeded.
    """
    _alone(db, organization_id)
    issue_field_options.check(data_type, options)
    if len(of_organization(db, organization_id)) >= MOST:
        raise Invalid(f"an organization has at most {MOST} issue fields")
    values = {
        "organization_id": organization_id,
        **named(name),
        "description": description,
        "data_type": data_type,
        "visibility": visibility,
        "created_at": db.now,
        "updated_at": db.now,
    }
    made = upsert.insert_if_absent(db, "issue_field", values, "organization_id, name_key")
    if made is None:
        raise _taken(name)
    issue_field_options.choose(db, made, options or ())
    return _again(db, made)


def update(
    db: Connection, field: Row, options: Sequence[Option] | None = None, **changes: Any
) -> tuple[Row, bool]:
    """Change a field's name, description or visibility, and replace its options.

    Removed options are removed from issues, too. Return the field, and whether it changes. Raises
    Invalid as `create` does, Missing if the field is gone.
    """
    _alone(db, field["organization_id"])
    before = _again(db, field["id"])
    if options is not None:
        issue_field_options.check(field["data_type"], options)
    if "name" in changes:
        changes |= named(changes["name"])
        other = _named_so(db, field["organization_id"], changes["name_key"])
        if other not in (None, field["id"]):
            raise _taken(changes["name"])
    upsert.update(db, "issue_field", before, changes)
    if options is not None and issue_field_options.choose(db, field["id"], options):
        db.update("issue_field", field["id"], updated_at=db.now)
    after = _again(db, field["id"])
    return after, after != before


def delete(db: Connection, field: Row) -> None:
    """Delete a field and its values. Raises Missing if it is gone."""
    _alone(db, field["organization_id"])
    row_lookup.delete(db, "issue_field", field, "issue field")


def get(db: Connection, organization_id: int, field_id: int) -> Row | None:
    """Return the organization's field with this id (COLUMNS and its options), or None."""
    row = of(db, [field_id]).get(field_id)
    return row if row is not None and row["organization_id"] == organization_id else None


def of(db: Connection, field_ids: Iterable[int]) -> dict[int, Row]:
    """Return the fields with these ids, by id: COLUMNS and their options."""
    rows = _select(db, f"id {db.among('ids')}", ids=json_array(field_ids))
    return {row["id"]: row for row in rows}


def of_organization(db: Connection, organization_id: int) -> list[Row]:
    """Return an organization's fields, oldest first: COLUMNS and their options."""
    return _select(db, "organization_id = :organization_id", organization_id=organization_id)


def _select(db: Connection, where: str, **given: Any) -> list[Row]:
    rows = db.all(f"SELECT {COLUMNS}, name_key FROM issue_field WHERE {where} ORDER BY id", **given)
    found = issue_field_options.of(db, [row["id"] for row in rows])
    return [row | {"options": found[row["id"]]} for row in rows]


def _alone(db: Connection, organization_id: int) -> None:
    # Without the lock, two transactions that count first would both pass the limit, and a field
    # could be changed while it is deleted.
    db.alone(f"issue fields of {organization_id}")


def _again(db: Connection, field_id: int) -> Row:
    return existing(of(db, [field_id]).get(field_id), "issue field")


def _named_so(db: Connection, organization_id: int, key: str) -> int | None:
    return db.optional_number(
        "SELECT id FROM issue_field WHERE organization_id = :organization_id AND name_key = :key",
        organization_id=organization_id,
        key=key,
    )


def _taken(name: str) -> Invalid:
    return Invalid(f"the organization has an issue field {name!r} already")
