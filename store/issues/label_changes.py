"""Changes of a repository's labels through the API."""

from collections.abc import Mapping
from typing import Any

from store.database import row_lookup, upsert
from store.database.connection import Connection, Row
from store.errors import Invalid, existing
from store.issues import labels
from store.repositories import deletions


def create(db: Connection, repo_id: int, fields: Mapping[str, Any]) -> Row:
    """Create a label. `fields` has `name` and other columns.

    Raises Invalid if another label has the name.
    """
    times = dict.fromkeys(("created_at", "updated_at", "changed_at"), db.now)
    key = fields["name"].lower()
    values = {"repo_id": repo_id, "name_key": key, "color": labels.GREY, **fields, **times}
    if upsert.insert_if_absent(db, "label", values, "repo_id, name_key") is None:
        raise _taken(fields["name"])
    return existing(labels.by_name(db, repo_id, key), "label")


def update(db: Connection, label: Row, fields: Mapping[str, Any]) -> tuple[Row, Row]:
    """Change a label, also on issues. Return it as it was before and as it is now.

    Raises Invalid if another label has the new name, and Missing if the label is gone.
    """
    before = row_lookup.lock(db, "label", labels.COLUMNS, label, "label")
    wanted = {**fields}
    if "name" in wanted:
        wanted["name_key"] = wanted["name"].lower()
        other = labels.by_name(db, before["repo_id"], wanted["name"])
        if other is not None and other["id"] != before["id"]:
            raise _taken(wanted["name"])
    after = before | wanted
    if after != before:
        upsert.update(db, "label", before, wanted | {"changed_at": db.now})
    return before, after


def delete(db: Connection, label: Row) -> None:
    """Delete a label, also from issues. Older payloads do not bring it back.

    Raises Missing if it is gone.
    """
    row_lookup.delete(db, "label", label, "label")
    deletions.put_own(db, labels.KIND, label)


def _taken(name: str) -> Invalid:
    return Invalid(
        f"there is a label {name!r} already", field="name", code="already_exists", resource="Label"
    )
