"""The sections `enterprises` and `enterprise_teams`."""

from typing import Literal

from pydantic import Field

from hub.cli.console.lookups import account, organization
from hub.cli.state import ages
from hub.cli.state.base import EnterprisePart, Moment, SectionEntry
from store import Connection, Row
from store.enterprises import (
    enterprise_assignments,
    enterprise_memberships,
    enterprise_teams,
    enterprises,
)
from store.errors import Invalid


class EnterpriseEntry(SectionEntry):
    """An enterprise, identified by its slug. `members` maps logins to roles. `usage_metrics` says
    whether its usage of the assistant is collected and shown.
    """

    identified_by = ("slug",)

    slug: str
    name: str | None = None
    members: dict[str, Literal["member", "billing_manager", "owner"]] = Field(default_factory=dict)
    organizations: list[str] = Field(default_factory=list)
    usage_metrics: Literal["enabled", "disabled", "unconfigured"] | None = None
    created_at: Moment | None = None

    def find(self, db: Connection, parent: Row) -> Row | None:
        row = enterprises.by_slug(db, self.slug)
        return row and {**row, "members": enterprises.members(db, row["id"])}

    def write(self, db: Connection, parent: Row, before: Row | None) -> bool:
        """Create the enterprise, or add to it what the document has."""
        row = before or enterprises.create(db, self.slug, name=self.name)
        if self.name is not None:
            enterprises.rename(db, row, self.name)
        if self.usage_metrics is not None:
            enterprises.enable_usage_metrics(db, row, self.usage_metrics)
        for login, role in self.members.items():
            enterprises.join(db, row["id"], account(db, login)["id"], role)
        adopted = [
            enterprises.adopt(db, row["id"], organization(db, login)["id"])
            for login in self.organizations
        ]
        ages.give(db, "enterprise", row, self.created_at)
        return any(adopted)


class EnterpriseTeamEntry(EnterprisePart):
    """A team of an enterprise, identified by both names. `organizations` is `all`, or a list of
    logins.
    """

    identified_by = ("enterprise", "name")

    name: str
    description: str | None = Field(None, max_length=1000)
    organizations: Literal["all"] | list[str] = Field(default_factory=list)
    members: list[str] = Field(default_factory=list)
    created_at: Moment | None = None

    @property
    def identity(self) -> str:
        return self.identified(name=enterprise_teams.slug_of(self.name)).lower()

    def find(self, db: Connection, parent: Row) -> Row | None:
        row = enterprise_teams.find(db, parent["id"], enterprise_teams.slug_of(self.name))
        return row and {
            **row,
            "organizations": enterprise_assignments.count(db, row),
            "members": enterprise_memberships.count(db, row["id"]),
        }

    def write(self, db: Connection, parent: Row, before: Row | None) -> None:
        """Create the team, or add to it what the document has."""
        row = before or enterprise_teams.create(db, parent["id"], self.name)
        row = enterprise_teams.update(db, row, **self.given("description"))
        self._assign(db, parent, row)
        members = [account(db, login)["id"] for login in self.members]
        enterprise_memberships.add(db, row, members)
        ages.give(db, "enterprise_team", row, self.created_at)

    def _assign(self, db: Connection, enterprise: Row, row: Row) -> None:
        if self.organizations == "all":
            enterprise_teams.update(db, row, selection="all")
            return
        found = enterprise_assignments.candidates(db, enterprise["id"], self.organizations)
        unknown = {login.lower() for login in self.organizations}
        unknown -= {each["login"].lower() for each in found}
        if unknown:
            raise Invalid(
                f"these are not organizations of {enterprise['slug']}: {', '.join(sorted(unknown))}"
            )
        enterprise_assignments.add(db, row, [each["id"] for each in found])
