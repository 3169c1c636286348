"""The options of issue fields."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from store.database import upsert
from store.database.connection import Connection, Row, json_array
from store.errors import Invalid

COLUMNS = "id, field_id, name, description, color, priority, created_at, updated_at"
COLORS = ("gray", "blue", "green", "yellow", "orange", "red", "pink", "purple")
CHOOSING = ("single_select", "multi_select")
"""The types of fields that have options."""
MOST = 50
"""The limit of options of a field."""

Option = Mapping[str, Any]
"""`name`, `color`, `priority` and optionally `description`; an existing option also has its `id`.
"""


def named(name: str) -> dict[str, str]:
    """Return a name and its key for comparisons. Raises Invalid for a blank name."""
    name = name.strip()
    if not name:
        raise Invalid("a name must not be blank")
    return {"name": name, "name_key": name.lower()}


def of(db: Connection, field_ids: Iterable[int]) -> dict[int, list[Row]]:
    """Return field id to its options, by priority."""
    found: dict[int, list[Row]] = {field_id: [] for field_id in field_ids}
    rows = db.all(
        f"SELECT {COLUMNS}, name_key FROM issue_field_option WHERE field_id {db.among('ids')}"
        " ORDER BY field_id, priority, id",
        ids=json_array(found),
    )
    for row in rows:
        found[row["field_id"]].append(row)
    return found


def check(data_type: str, options: Sequence[Option] | None) -> None:
    """Raise Invalid if a field of this type cannot have these options."""
    if data_type not in CHOOSING:
        if options:
            raise Invalid(f"a field of type {data_type} cannot have options")
        return
    if not options:
        raise Invalid(f"a field of type {data_type} must have options")
    if len(options) > MOST:
        raise Invalid(f"a field has at most {MOST} options")
    names = [named(option["name"])["name_key"] for option in options]
    if len({*names}) < len(names):
        raise Invalid("each option must have a name of its own")


def choose(db: Connection, field_id: int, options: Sequence[Option]) -> bool:
    """Replace the options of a field. Return whether that changes anything."""
    before = {row["id"]: row for row in of(db, [field_id])[field_id]}
    kept = _matched(before, options)
    gone = before.keys() - {row["id"] for row in kept if row is not None}
    _drop(db, gone)
    changed = bool(gone)
    # All names are set aside first, because two options that exchange names would conflict. No real
    # name begins with a space.
    _rename_aside(db, field_id)
    for row, option in zip(kept, options, strict=True):
        changed = _set_option(db, field_id, row, option) or changed
    return changed


def _matched(before: Mapping[int, Row], options: Sequence[Option]) -> list[Row | None]:
    """Return the existing row of each option, or None for a new one.

    An option matches a row by its id, or else by its name if no other option has that row's id.
    """
    ids = [option["id"] for option in options if option.get("id") is not None]
    if len({*ids}) < len(ids) or not before.keys() >= {*ids}:
        raise Invalid("each id must belong to one of the field's options, and occur once")
    free = {row["name_key"]: row for number, row in before.items() if number not in ids}
    return [
        free.get(named(option["name"])["name_key"])
        if option.get("id") is None
        else before[option["id"]]
        for option in options
    ]


def _drop(db: Connection, option_ids: Iterable[int]) -> None:
    ids = [*option_ids]
    wanted = db.among("ids")
    # If an issue has no other option of the field, its value is deleted, too.
    db.execute(
        "DELETE FROM issue_field_value WHERE id IN (SELECT c.value_id FROM issue_field_choice c"
        f" WHERE c.option_id {wanted}) AND NOT EXISTS (SELECT 1 FROM issue_field_choice o"
        f" WHERE o.value_id = issue_field_value.id AND o.option_id NOT {wanted})",
        ids=json_array(ids),
    )
    db.delete_many("issue_field_option", "id", ids)


def _rename_aside(db: Connection, field_id: int) -> None:
    db.execute(
        "UPDATE issue_field_option SET name_key = ' ' || id WHERE field_id = :field_id",
        field_id=field_id,
    )


def _set_option(db: Connection, field_id: int, row: Row | None, option: Option) -> bool:
    values = {
        **named(option["name"]),
        "description": option.get("description"),
        "color": option["color"],
        "priority": option["priority"],
    }
    if row is None:
        moments = {"created_at": db.now, "updated_at": db.now}
        whole = {"field_id": field_id, **values, **moments}
        made = upsert.insert_if_absent(db, "issue_field_option", whole, "field_id, name_key")
        assert made is not None, "their names have been checked"
        return True
    aside = row | {"name_key": ""}
    changed = any(row[column] != value for column, value in values.items())
    moment = db.now if changed else row["updated_at"]
    upsert.update(db, "issue_field_option", aside, {**values, "updated_at": moment})
    return changed
