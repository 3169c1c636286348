"""Projection of issue field values.

A field belongs to an organization, so an event of a repository may not change it. If a field is
unknown, it is only created if a source signed the event. If it has another type here, its value is
ignored.
"""

from collections.abc import Mapping
from typing import Any

from store.database import payload_reader
from store.database.connection import Connection, Row
from store.delivery import sources
from store.errors import Invalid
from store.issues import issue_events, issue_field_values, issue_fields, issues
from store.issues.issue_field_options import CHOOSING, COLORS
from store.issues.issue_field_options import MOST as MOST_OPTIONS
from store.issues.issue_field_values import FieldAssignment
from store.projection.issue_event_projection import subject

NAME = payload_reader.text(100, least=1)
FIELD = {
    "name": NAME,
    "data_type": payload_reader.one_of(*issue_fields.TYPES),
    "description": payload_reader.nullable(payload_reader.text(1_000)),
    "visibility": payload_reader.one_of(*issue_fields.VISIBILITIES),
}
OPTION = {
    "name": NAME,
    "color": payload_reader.one_of(*COLORS),
    "description": payload_reader.nullable(payload_reader.text(1_000)),
    "priority": payload_reader.number,
}


def project(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Project an `issues` event about a field: `field_added` (or changed) and `field_removed`."""
    if event["action"] not in ("field_added", "field_removed"):
        return
    issue, change = subject(db, repo, payload, event, "issue")
    if issue is None or not issue_events.is_there(issue):
        return
    field = _field(db, repo, payload_reader.read_part(payload, "issue_field"), event)
    later = issues.changed_later(db, issue, change.given, event).items("field")
    if field is None or field["id"] in later:
        return
    if event["action"] == "field_removed":
        issue_field_values.empty(db, issue, [field["id"]])
        return
    filling = _filling(field, payload_reader.read_part(payload, "issue_field_value"))
    if filling is not None:
        issue_field_values.fill(db, issue, {field["id"]: filling})


def _field(db: Connection, repo: Row, given: Mapping[str, Any], event: Row) -> Row | None:
    """Return the organization's field with this name and type, or None.

    If it is missing and the event is trusted, create it.
    """
    fields = payload_reader.read_fields(given, FIELD)
    if repo["owner_kind"] != "Organization" or not {"name", "data_type"} <= fields.keys():
        return None
    key = fields["name"].strip().lower()
    for row in issue_fields.of_organization(db, repo["owner_id"]):
        if row["name_key"] == key:
            return row if row["data_type"] == fields["data_type"] else None
    if not sources.is_signed(event):
        return None
    options = _options(given) if fields["data_type"] in CHOOSING else None
    try:
        return issue_fields.create(db, repo["owner_id"], **fields, options=options)
    except Invalid:
        return None


def _options(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    reported = payload_reader.read_object_list(given, "options") or []
    read = [payload_reader.read_fields(each, OPTION) for each in reported[:MOST_OPTIONS]]
    return [
        {"color": "gray", "priority": number, **one}
        for number, one in enumerate(read)
        if "name" in one
    ]


def _filling(field: Row, given: Mapping[str, Any]) -> FieldAssignment | None:
    value = given.get("value")
    if field["data_type"] == "single_select":
        value = payload_reader.read_part(given, "single_select_option").get("name")
    elif field["data_type"] == "multi_select":
        chosen = payload_reader.read_object_list(given, "multi_select_options") or []
        value = [each.get("name") for each in chosen]
    if isinstance(value, str):
        # Not every engine can store NUL in a text.
        value = value.replace("\0", "")
    try:
        return issue_field_values.assignment_of(field, value)
    except Invalid:
        return None
