"""The sections `issue_fields` and `issue_field_values`."""

from datetime import date
from typing import Literal

from pydantic import Field, StrictFloat, StrictInt, StrictStr

from hub.cli.state.base import OrganizationPart, StateEntry
from hub.cli.state.sections.issue_events import OnIssueEntry, issue_row
from hub.cli.state.sections.issues import Text, Title
from store import Connection, Row
from store.accounts import organizations
from store.errors import Conflict, existing
from store.issues import issue_field_values, issue_fields
from store.issues.issue_field_options import COLORS, MOST
from store.issues.issue_fields import TYPES, VISIBILITIES


class IssueFieldOptionEntry(StateEntry):
    """An option of an issue field, identified by its name."""

    name: Title
    color: Literal[COLORS] = "gray"  # type: ignore[valid-type]
    priority: int = Field(0, ge=0, lt=2**31)
    description: Text | None = None


class IssueFieldEntry(OrganizationPart):
    """An issue field, identified by its organization and name. `options` replace all options."""

    identified_by = ("organization", "name")

    name: Title
    data_type: Literal[TYPES]  # type: ignore[valid-type]
    description: Text | None = None
    visibility: Literal[VISIBILITIES] = VISIBILITIES[0]  # type: ignore[valid-type]
    options: list[IssueFieldOptionEntry] = Field(default_factory=list, max_length=MOST)

    def parent(self, db: Connection) -> Row:
        """Return the organization. Raises Missing if there is none."""
        return existing(
            organizations.by_login(db, self.organization),
            f"there is no organization {self.organization!r}",
        )

    def find(self, db: Connection, parent: Row) -> Row | None:
        return _named(db, parent["id"], self.name)

    def write(self, db: Connection, parent: Row, before: Row | None) -> None:
        """Create or update the field. Raises Conflict if it exists with another type."""
        given = self.given("description", "visibility")
        if "options" in self.model_fields_set:
            given["options"] = [option.model_dump() for option in self.options]
        if before is None:
            issue_fields.create(db, parent["id"], self.name, self.data_type, **given)
        elif before["data_type"] != self.data_type:
            raise Conflict(f"{self.name!r} is a field of type {before['data_type']}")
        else:
            issue_fields.update(db, before, name=self.name, **given)


class IssueFieldValueEntry(OnIssueEntry):
    """A value of an issue field. `field` is the field's name; `value` is a text, a number, a date,
    or names of options.
    """

    identified_by = ("repository", "issue", "field")

    field: Title
    value: StrictStr | StrictInt | StrictFloat | date | list[StrictStr]

    def name_in(self, db: Connection, parent: Row) -> str:
        return f"{parent['full_name']}#{self.issue} {self._field(db, parent)['name']}"

    def find(self, db: Connection, parent: Row) -> Row | None:
        """Return the value, or None. Raises Missing for an unknown issue or field."""
        row = issue_row(db, parent, self.issue)
        return issue_field_values.get(db, row["id"], self._field(db, parent)["id"])

    def write(self, db: Connection, parent: Row, before: object) -> None:
        row, field = issue_row(db, parent, self.issue), self._field(db, parent)
        # The YAML parser has turned a date into a `date`.
        value = self.value.isoformat() if isinstance(self.value, date) else self.value
        filling = issue_field_values.assignment_of(field, value)
        issue_field_values.fill(db, row, {field["id"]: filling})

    def _field(self, db: Connection, repo: Row) -> Row:
        return existing(
            _named(db, repo["owner_id"], self.field),
            f"{repo['owner']} has no issue field {self.field!r}",
        )


def _named(db: Connection, organization_id: int, name: str) -> Row | None:
    key = name.strip().lower()
    rows = issue_fields.of_organization(db, organization_id)
    return next((row for row in rows if row["name_key"] == key), None)
