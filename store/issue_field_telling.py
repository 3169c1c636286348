"""Issue field values as platforms tell of them.

A field is its organization's, which an event of a repository may not change: what is told of one
that is not known, or that is of another type here, is passed over, unless a source signed it.
"""

from collections.abc import Mapping
from typing import Any

from store import foreign, foreign_repositories, issue_field_values, issue_fields
from store.connection import Connection, Row
from store.errors import Invalid
from store.issue_field_options import CHOOSING, COLORS
from store.issue_field_options import MOST as MOST_OPTIONS
from store.issue_field_values import Filling
from store.issue_history import subject

NAME = foreign.text(100, least=1)
FIELD = {
    "name": NAME,
    "data_type": foreign.one_of(*issue_fields.TYPES),
    "description": foreign.nullable(foreign.text(1_000)),
    "visibility": foreign.one_of(*issue_fields.VISIBILITIES),
}
OPTION = {
    "name": NAME,
    "color": foreign.one_of(*COLORS),
    "description": foreign.nullable(foreign.text(1_000)),
    "priority": foreign.number,
}


def told(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Take up what an `issues` event says of a field of its issue: `field_added` (also where it is
    filled with something else) and `field_removed`.
    """
    if event["action"] not in ("field_added", "field_removed"):
        return
    issue, _ = subject(db, repo, payload, event, "issue")
    if issue is None or issue["deleted_at"] is not None or issue["moved_to"] is not None:
        return
    field = _field(db, repo, foreign.part(payload, "issue_field") or {}, event)
    if field is None:
        return
    if event["action"] == "field_removed":
        issue_field_values.empty(db, issue, [field["id"]])
        return
    filling = _filling(field, foreign.part(payload, "issue_field_value") or {})
    if filling is not None:
        issue_field_values.fill(db, issue, {field["id"]: filling})


def _field(db: Connection, repo: Row, given: Mapping[str, Any], event: Row) -> Row | None:
    """The organization's field of this name and type, made where the event is believed."""
    fields = foreign.fields(given, FIELD)
    if repo["owner_kind"] != "Organization" or not {"name", "data_type"} <= fields.keys():
        return None
    key = fields["name"].strip().lower()
    for row in issue_fields.of_organization(db, repo["owner_id"]):
        if row["name_key"] == key:
            return row if row["data_type"] == fields["data_type"] else None
    if not foreign_repositories.trusted(event):
        return None
    options = _options(given) if fields["data_type"] in CHOOSING else None
    try:
        return issue_fields.create(db, repo["owner_id"], **fields, options=options)
    except Invalid:
        return None


def _options(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    told = foreign.parts(given, "options") or []
    read = [foreign.fields(each, OPTION) for each in told[:MOST_OPTIONS]]
    return [
        {"color": "gray", "priority": number, **one}
        for number, one in enumerate(read)
        if "name" in one
    ]


def _filling(field: Row, given: Mapping[str, Any]) -> Filling | None:
    value = given.get("value")
    if field["data_type"] == "single_select":
        value = (foreign.part(given, "single_select_option") or {}).get("name")
    elif field["data_type"] == "multi_select":
        chosen = foreign.parts(given, "multi_select_options") or []
        value = [each.get("name") for each in chosen]
    if isinstance(value, str):
        # Not every engine keeps a NUL in a text.
        value = value.replace("\0", "")
    try:
        return issue_field_values.filling(field, value)
    except Invalid:
        return None
