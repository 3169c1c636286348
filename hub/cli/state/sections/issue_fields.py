"""The sections `issue_fields` and `issue_field_values`."""

from datetime import date
from typing import Literal

from pydantic import Field, StrictFloat, StrictInt, StrictStr

from hub.cli.state.base import StateEntry
from hub.cli.state.changes import StateChange, outcome_of
from hub.cli.state.sections.issue_events import OnIssueEntry
from hub.cli.state.sections.issues import Text, Title
from store import Connection, Row
from store.accounts import organizations
from store.errors import Conflict, Missing
from store.issues import issue_field_values, issue_fields
from store.issues.issue_field_options import COLORS, MOST
from store.issues.issue_fields import TYPES, VISIBILITIES


class IssueFieldOptionEntry(StateEntry):
    """An option of an issue field, identified by its name."""

    name: Title
    color: Literal[COLORS] = "gray"  # type: ignore[valid-type]
    priority: int = Field(0, ge=0, lt=2**31)
    description: Text | None = None


class IssueFieldEntry(StateEntry):
    """An issue field, identified by its organization and name. `options` replace all options."""

    organization: str
    name: Title
    data_type: Literal[TYPES]  # type: ignore[valid-type]
    description: Text | None = None
    visibility: Literal[VISIBILITIES] = VISIBILITIES[0]  # type: ignore[valid-type]
    options: list[IssueFieldOptionEntry] = Field(default_factory=list, max_length=MOST)

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "issue field", f"{self.organization.lower()} {self.name.lower()}"


class IssueFieldValueEntry(OnIssueEntry):
    """A value of an issue field. `field` is the field's name; `value` is a text, a number, a date,
    or names of options.
    """

    field: Title
    value: StrictStr | StrictInt | StrictFloat | date | list[StrictStr]

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "issue field value", f"{self.repository.lower()} {self.issue} {self.field.lower()}"


def issue_field(db: Connection, wanted: IssueFieldEntry) -> StateChange:
    """Create or update a field. Raises Conflict if it exists with another type.

    Raises Missing for an unknown organization.
    """
    org = organizations.by_login(db, wanted.organization)
    if org is None:
        raise Missing(f"there is no organization {wanted.organization!r}")
    given = wanted.given("description", "visibility")
    if "options" in wanted.model_fields_set:
        given["options"] = [option.model_dump() for option in wanted.options]
    before = _field(db, org["id"], wanted.name)
    if before is None:
        issue_fields.create(db, org["id"], wanted.name, wanted.data_type, **given)
    elif before["data_type"] != wanted.data_type:
        raise Conflict(f"{wanted.name!r} is a field of type {before['data_type']}")
    else:
        issue_fields.update(db, before, name=wanted.name, **given)
    after = _field(db, org["id"], wanted.name)
    return StateChange("issue field", f"{org['login']} {wanted.name}", outcome_of(before, after))


def issue_field_value(db: Connection, wanted: IssueFieldValueEntry) -> StateChange:
    """Set the value of an issue's field. Raises Missing for an unknown issue or field."""
    repo, row = wanted.found(db)
    field = _field(db, repo["owner_id"], wanted.field)
    if field is None:
        raise Missing(f"{repo['owner']} has no issue field {wanted.field!r}")
    before = issue_field_values.get(db, row["id"], field["id"])
    # YAML parses dates.
    value = wanted.value.isoformat() if isinstance(wanted.value, date) else wanted.value
    filling = issue_field_values.assignment_of(field, value)
    issue_field_values.fill(db, row, {field["id"]: filling})
    after = issue_field_values.get(db, row["id"], field["id"])
    name = f"{repo['full_name']}#{wanted.issue} {field['name']}"
    return StateChange("issue field value", name, outcome_of(before, after))


def _field(db: Connection, organization_id: int, name: str) -> Row | None:
    key = name.strip().lower()
    rows = issue_fields.of_organization(db, organization_id)
    return next((row for row in rows if row["name_key"] == key), None)
