"""State documents: issue fields and their values."""

from typing import Any

import pytest

from store import Store
from store.accounts import accounts
from store.issues import issue_field_values, issue_fields, issues
from store.repositories import repositories

OPTIONS = [{"name": "high", "color": "red", "priority": 1}, {"name": "low", "priority": 2}]
FIELD = {
    "organization": "acme",
    "name": "Urgency",
    "data_type": "multi_select",
    "options": OPTIONS,
}
AT = {"repository": "acme/tools", "issue": 1}
VALUE: dict[str, Any] = {**AT, "field": "urgency", "value": ["high", "low"]}
DOCUMENT: dict[str, Any] = {
    "organizations": [{"login": "acme"}],
    "repositories": [{"name": "acme/tools"}],
    "issues": [{"repository": "acme/tools", "number": 1, "title": "It halts"}],
    "issue_fields": [FIELD],
    "issue_field_values": [VALUE],
}


def values(store: Store) -> dict[str, Any]:
    repo = store.read_sync(repositories.find, "acme", "tools")
    row = store.read_sync(issues.get, repo["id"], 1)
    rows = store.read_sync(issue_field_values.of_issue, row["id"])
    return {one["name"]: [o["name"] for o in one["options"]] or one["value"] for one in rows}


def test_issue_fields_are_made_once(load, store: Store):
    assert "5 created, 0 updated, 0 unchanged" in load(DOCUMENT).stdout
    assert values(store) == {"Urgency": ["high", "low"]}
    assert "0 created, 0 updated, 5 unchanged" in load(DOCUMENT).stdout


def test_changed_issue_fields_are_updated(load, store: Store):
    load(DOCUMENT)
    again = {
        "issue_fields": [{**FIELD, "options": [OPTIONS[1]], "description": "How soon"}],
        "issue_field_values": [{**VALUE, "value": "low"}],
    }
    assert "0 created, 1 updated, 1 unchanged" in load(again).stdout
    assert values(store) == {"Urgency": ["low"]}
    acme = store.read_sync(accounts.by_login, "acme")
    (field,) = store.read_sync(issue_fields.of_organization, acme["id"])
    assert field["description"] == "How soon"
    # A field that the document leaves out keeps its value.
    bare = {key: FIELD[key] for key in ("organization", "name", "data_type")}
    assert "0 created, 0 updated, 1 unchanged" in load({"issue_fields": [bare]}).stdout


@pytest.mark.parametrize(
    ("part", "wrong", "said"),
    [
        ("issue_fields", {"organization": "none"}, "there is no organization 'none'"),
        ("issue_fields", {"data_type": "text"}, "a field of type text cannot have options"),
        ("issue_fields", {"data_type": "colour"}, "issue_fields[0].data_type"),
        ("issue_fields", {"options": []}, "a field of type multi_select must have options"),
        ("issue_field_values", {"field": "Effort"}, "acme has no issue field 'Effort'"),
        ("issue_field_values", {"value": "middle"}, "has no option 'middle'"),
        ("issue_field_values", {"value": True}, "issue_field_values[0].value"),
        ("issue_field_values", {"issue": 9}, "there is no issue 9 in acme/tools"),
    ],
)
def test_a_wrong_issue_field_is_refused(load, part: str, wrong: dict[str, Any], said: str):
    document = {**DOCUMENT, part: [DOCUMENT[part][0] | wrong]}
    assert said in load(document, code=2).stderr


def test_the_type_of_a_field_cannot_be_changed(load):
    load(DOCUMENT)
    other = {"organization": "acme", "name": "URGENCY", "data_type": "text"}
    assert "is a field of type multi_select" in load({"issue_fields": [other]}, code=2).stderr
