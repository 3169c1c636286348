"""The sections `teams` and `assistant_subscriptions`."""

from typing import Literal

from pydantic import Field

from hub.cli.console.lookups import account, repository_named
from hub.cli.state.base import FullName, OrganizationPart
from store import Connection, Row
from store.accounts import teams
from store.assistant import assistant_seats, assistant_subscriptions
from store.enterprises import team_repositories
from store.errors import Missing

Permission = Literal["pull", "triage", "push", "maintain", "admin"]
# The roles that have other names than the permissions.
ROLES = {"pull": "read", "push": "write"}
Switch = Literal["enabled", "disabled", "unconfigured"]


class TeamEntry(OrganizationPart):
    """A team, identified by its organization and name. `repositories` maps the organization's
    repositories to the permissions that the team has there.
    """

    identified_by = ("organization", "name")

    name: str
    description: str | None = Field(None, max_length=1000)
    privacy: Literal["secret", "closed"] = "closed"
    permission: Permission = "pull"
    members: list[str] = Field(default_factory=list)
    repositories: dict[FullName, Permission] = Field(default_factory=dict)

    @property
    def identity(self) -> str:
        return self.identified(name=teams.slug_of(self.name)).lower()

    def find(self, db: Connection, parent: Row) -> Row | None:
        found = teams.named(db, parent["id"], [self.name])
        return {**found[0], "members": teams.member_ids(db, [found[0]["id"]])} if found else None

    def write(self, db: Connection, parent: Row, before: Row | None) -> bool:
        """Create the team, or add to it what the document has."""
        given = self.given("description", "privacy", "permission")
        row = before or teams.create(db, parent["id"], self.name, **given)
        teams.update(db, row, **given)
        teams.join(db, row["id"], [account(db, login)["id"] for login in self.members])
        granted = [
            team_repositories.put(
                db, row, repository_named(db, name), ROLES.get(permission, permission)
            )
            for name, permission in self.repositories.items()
        ]
        return any(granted)


class AssistantSubscriptionEntry(OrganizationPart):
    """A subscription to the assistant, identified by its organization. `users` and the members of
    `teams` get seats. If `seat_management` is `assign_all`, all present and future members get
    seats.
    """

    identified_by = ("organization",)

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

    def find(self, db: Connection, parent: Row) -> Row | None:
        assistant_subscriptions.alone(db, parent["id"])
        return assistant_subscriptions.of(db, parent["id"])

    def write(self, db: Connection, parent: Row, before: Row | None) -> bool:
        """Set the subscription, and give seats to users who have none."""
        after = assistant_subscriptions.put(db, parent["id"], **self._columns())
        users = [account(db, login)["id"] for login in self.users]
        named = teams.named(db, parent["id"], self.teams)
        unknown = {teams.slug_of(name) for name in self.teams} - {row["slug"] for row in named}
        if unknown:
            raise Missing(f"there is no team {min(unknown)!r} of {parent['login']}")
        seats = [
            *assistant_seats.give_users(db, parent["id"], users),
            *assistant_seats.give_teams(db, parent["id"], [row["id"] for row in named]),
            # This comes last: users who are named here keep a seat that all members had until now.
            *assistant_seats.manage(db, parent["id"], before, after),
        ]
        return any(seats)

    def _columns(self) -> Row:
        given = self.given(
            "plan", "seat_management", "public_code", "ide_chat", "platform_chat", "cli"
        )
        return given | {name: int(value) for name, value in self.given("payable").items()}
