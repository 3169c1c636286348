"""The sections `teams` and `assistant_subscriptions`."""

from typing import Literal

from pydantic import Field

from hub.cli.console.options import account, organization
from hub.cli.state.base import StateEntry
from hub.cli.state.changes import StateChange, combined, outcome_of
from store import Connection, Row
from store.accounts import teams
from store.assistant import assistant_seats, assistant_subscriptions
from store.errors import Missing

Switch = Literal["enabled", "disabled", "unconfigured"]


class TeamEntry(StateEntry):
    """A team, identified by its organization and name."""

    organization: str
    name: str
    description: str | None = Field(None, max_length=1000)
    privacy: Literal["secret", "closed"] = "closed"
    permission: Literal["pull", "triage", "push", "maintain", "admin"] = "pull"
    members: list[str] = Field(default_factory=list)

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "team", f"{self.organization} {teams.slug_of(self.name)}".lower()


class AssistantSubscriptionEntry(StateEntry):
    """A subscription to the assistant, identified by its organization. `users` and the members of
    `teams` get seats. If `seat_management` is `assign_all`, all present and future members get
    seats.
    """

    organization: str
    plan: Literal["business", "enterprise"] = "business"
    payable: bool = True
    seat_management: Literal["assign_all", "assign_selected", "disabled", "unconfigured"] = (
        "assign_selected"
    )
    public_code: Literal["allow", "block", "unconfigured"] = "block"
    ide_chat: Switch = "enabled"
    platform_chat: Switch = "enabled"
    cli: Switch = "enabled"
    users: list[str] = Field(default_factory=list)
    teams: list[str] = Field(default_factory=list)

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "assistant subscription", self.organization.lower()


def team(db: Connection, wanted: TeamEntry) -> StateChange:
    """Create a team, or add to it what the document has."""
    org = organization(db, wanted.organization)
    name = f"{org['login']} {wanted.name}"
    found = teams.named(db, org["id"], [wanted.name])
    given = wanted.given("description", "privacy", "permission")
    row = found[0] if found else teams.create(db, org["id"], wanted.name, **given)
    changed = teams.update(db, row, **given)
    changed |= teams.join(db, row["id"], [account(db, login)["id"] for login in wanted.members])
    return StateChange("team", name, combined("unchanged" if found else "created", changed))


def subscription(db: Connection, wanted: AssistantSubscriptionEntry) -> StateChange:
    """Create or update an organization's subscription, and give seats to users who have none."""
    org = organization(db, wanted.organization)
    assistant_subscriptions.alone(db, org["id"])
    before = assistant_subscriptions.of(db, org["id"])
    after = assistant_subscriptions.put(db, org["id"], **_given(wanted))
    users = [account(db, login)["id"] for login in wanted.users]
    named = teams.named(db, org["id"], wanted.teams)
    unknown = {teams.slug_of(name) for name in wanted.teams} - {row["slug"] for row in named}
    if unknown:
        raise Missing(f"there is no team {min(unknown)!r} of {org['login']}")
    seats = [
        *assistant_seats.give_users(db, org["id"], users),
        *assistant_seats.give_teams(db, org["id"], [row["id"] for row in named]),
        # This comes last: users who are named here keep a seat that all members had until now.
        *assistant_seats.manage(db, org["id"], before, after),
    ]
    outcome = combined(outcome_of(before, after), any(seats))
    return StateChange("assistant subscription", org["login"], outcome)


def _given(wanted: AssistantSubscriptionEntry) -> Row:
    given = wanted.given(
        "plan", "seat_management", "public_code", "ide_chat", "platform_chat", "cli"
    )
    if "payable" in wanted.model_fields_set:
        given["payable"] = int(wanted.payable)
    return given
