"""The sections `enterprises` and `enterprise_teams`."""

from typing import Literal

from pydantic import Field

from hub.cli.console.options import account, organization
from hub.cli.state import ages
from hub.cli.state.base import Moment, StateEntry
from hub.cli.state.changes import Outcome, StateChange, combined, outcome_of
from store import Connection, Row
from store.enterprises import (
    enterprise_assignments,
    enterprise_memberships,
    enterprise_teams,
    enterprises,
)
from store.errors import Invalid, Missing


class EnterpriseEntry(StateEntry):
    """An enterprise, identified by its slug. `members` maps logins to roles. `usage_metrics` says
    whether its usage of the assistant is collected and shown.
    """

    slug: str
    name: str | None = None
    members: dict[str, Literal["member", "billing_manager", "owner"]] = Field(default_factory=dict)
    organizations: list[str] = Field(default_factory=list)
    usage_metrics: Literal["enabled", "disabled", "unconfigured"] | None = None
    created_at: Moment | None = None

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "enterprise", self.slug.lower()


class EnterpriseTeamEntry(StateEntry):
    """A team of an enterprise, identified by both names. `organizations` is `all`, or a list of
    logins.
    """

    enterprise: str
    name: str
    description: str | None = Field(None, max_length=1000)
    organizations: Literal["all"] | list[str] = Field(default_factory=list)
    members: list[str] = Field(default_factory=list)
    created_at: Moment | None = None

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "enterprise team", f"{self.enterprise} {enterprise_teams.slug_of(self.name)}".lower()


def enterprise(db: Connection, wanted: EnterpriseEntry) -> StateChange:
    """Create an enterprise, or add to it what the document has."""
    row = enterprises.by_slug(db, wanted.slug)
    created = row is None
    row = row or enterprises.create(db, wanted.slug, name=wanted.name)
    before = _members(db, row)
    if wanted.name is not None:
        enterprises.rename(db, row, wanted.name)
    if wanted.usage_metrics is not None:
        enterprises.enable_usage_metrics(db, row, wanted.usage_metrics)
    for login, role in wanted.members.items():
        enterprises.join(db, row["id"], account(db, login)["id"], role)
    adopted = [
        enterprises.adopt(db, row["id"], organization(db, login)["id"])
        for login in wanted.organizations
    ]
    aged = ages.give(db, "enterprise", row, wanted.created_at)
    if created:
        return StateChange("enterprise", wanted.slug, "created")
    outcome = outcome_of(before, _members(db, row))
    return StateChange("enterprise", wanted.slug, combined(outcome, aged or any(adopted)))


def _members(db: Connection, row: Row) -> Row:
    found = enterprises.by_slug(db, row["slug"])
    assert found is not None, "it was there a moment ago"
    members = enterprises.members(db, row["id"])
    return {"name": found["name"], "usage": found["usage_metrics"], "members": members}


def team(db: Connection, wanted: EnterpriseTeamEntry) -> StateChange:
    """Create a team, or add to it what the document has. Raises Missing for an unknown
    enterprise.
    """
    owner = enterprises.by_slug(db, wanted.enterprise)
    if owner is None:
        raise Missing(f"there is no enterprise {wanted.enterprise!r}")
    name = f"{owner['slug']} {wanted.name}"
    row = enterprise_teams.find(db, owner["id"], enterprise_teams.slug_of(wanted.name))
    created = row is None
    row = row or enterprise_teams.create(db, owner["id"], wanted.name)
    before = _held(db, row)
    row = enterprise_teams.update(db, row, **wanted.given("description"))
    _assign(db, owner, row, wanted)
    members = [account(db, login)["id"] for login in wanted.members]
    enterprise_memberships.add(db, row["id"], members)
    aged = ages.give(db, "enterprise_team", row, wanted.created_at)
    outcome: Outcome = "created" if created else outcome_of(before, _held(db, row))
    return StateChange("enterprise team", name, combined(outcome, aged))


def _assign(db: Connection, owner: Row, row: Row, wanted: EnterpriseTeamEntry) -> None:
    if wanted.organizations == "all":
        enterprise_teams.update(db, row, selection="all")
        return
    found = enterprise_assignments.candidates(db, owner["id"], wanted.organizations)
    unknown = {login.lower() for login in wanted.organizations}
    unknown -= {each["login"].lower() for each in found}
    if unknown:
        raise Invalid(
            f"these are not organizations of {owner['slug']}: {', '.join(sorted(unknown))}"
        )
    enterprise_assignments.add(db, row, [each["id"] for each in found])


def _held(db: Connection, row: Row) -> Row:
    found = enterprise_teams.find(db, row["enterprise_id"], str(row["id"]))
    assert found is not None, "it was there a moment ago"
    return {
        "description": found["description"],
        "selection": found["selection"],
        "organizations": enterprise_assignments.count(db, found),
        "members": enterprise_memberships.count(db, row["id"]),
    }
