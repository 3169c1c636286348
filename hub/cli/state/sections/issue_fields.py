"""Issue fields of organizations and their values in a state document."""

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
    """Known again by its name."""

    name: Title
    color: Literal[COLORS] = "gray"  # type: ignore[valid-type]
    priority: int = Field(0, ge=0, lt=2**31)
    description: Text | None = None


class IssueFieldEntry(StateEntry):
    """Known again by its organization and name. Options that are given are all that there are."""

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
    """`field` is the name of one; `value` is a text, a number, a date, or names of options."""

    field: Title
    value: StrictStr | StrictInt | StrictFloat | date | list[StrictStr]

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "issue field value", f"{self.repository.lower()} {self.issue} {self.field.lower()}"


def issue_field(db: Connection, wanted: IssueFieldEntry) -> StateChange:
    """Make a field, or change it. Conflict where it is there with another type."""
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
    """Fill a field of an issue."""
    repo, row = wanted.found(db)
    field = _field(db, repo["owner_id"], wanted.field)
    if field is None:
        raise Missing(f"{repo['owner']} has no issue field {wanted.field!r}")
    before = issue_field_values.get(db, row["id"], field["id"])
    # YAML reads dates as such.
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
