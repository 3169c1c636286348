"""The sections `interaction_limits` and `pull_request_caps`."""

from typing import Literal, Self

from pydantic import Field, model_validator

from hub.cli.console.lookups import account, organization, repository_named, user
from hub.cli.state.base import FullName, Moment, SectionEntry
from store import Connection, Row, clock
from store.repositories import interaction_limits, pull_request_caps
from store.repositories.pull_request_caps import LEAST, MOST


class InteractionLimitEntry(SectionEntry):
    """An interaction limit of a repository, or of all repositories of an account. A limit that has
    expired is ignored. A new one without `expires_at` ends after one day.
    """

    account: str | None = None
    repository: FullName | None = None
    limit: Literal["existing_users", "contributors_only", "collaborators_only"]
    expires_at: Moment | None = None

    @model_validator(mode="after")
    def _of_one(self) -> Self:
        if (self.account is None) == (self.repository is None):
            raise ValueError("a limit needs either an `account` or a `repository`")
        return self

    @property
    def identity(self) -> str:
        return str(self.account or self.repository).lower()

    def name_in(self, db: Connection, parent: Row) -> str:
        return str(self.account or self.repository)

    def parent(self, db: Connection) -> Row:
        """Return the account or the repository. Raises Missing if there is none."""
        if self.account is not None:
            return account(db, self.account)
        return repository_named(db, str(self.repository))

    def find(self, db: Connection, parent: Row) -> Row | None:
        if self.account is not None:
            return interaction_limits.of_account(db, parent["id"])
        found = interaction_limits.in_force(db, parent)
        return None if found is None or found["repo_id"] is None else found

    def write(self, db: Connection, parent: Row, before: Row | None) -> None:
        """Set the limit. Raises Conflict for a repository whose owner has a limit."""
        given = None if self.expires_at is None else clock.from_datetime(self.expires_at)
        over = given is not None and given <= db.now
        same = before is not None and before["allowed"] == self.limit
        if over or (same and given in (None, before and before["expires_at"])):
            return
        kept = None if before is None else before["expires_at"]
        ends = given or kept or interaction_limits.ends_at(db.now, "one_day")
        if self.account is not None:
            interaction_limits.limit_account(db, parent["id"], self.limit, ends)
        else:
            interaction_limits.limit_repository(db, parent, self.limit, ends)


class PullRequestCapEntry(SectionEntry):
    """A cap on open pull requests of an organization or of a repository. `bypass` lists users for
    whom no cap applies in the repository, neither its own nor its organization's. A new cap is
    enabled by default.
    """

    organization: str | None = None
    repository: FullName | None = None
    enabled: bool = True
    max_open_pull_requests: int | None = Field(None, ge=LEAST, le=MOST)
    bypass: list[str] = Field(default_factory=list, max_length=pull_request_caps.MOST_BYPASSING)

    @model_validator(mode="after")
    def _of_one(self) -> Self:
        if (self.organization is None) == (self.repository is None):
            raise ValueError("a cap needs either an `organization` or a `repository`")
        if self.bypass and self.repository is None:
            raise ValueError("only the cap of a `repository` has a `bypass`")
        return self

    @property
    def identity(self) -> str:
        return str(self.organization or self.repository).lower()

    @property
    def whose(self) -> str:
        """Return the kind of the cap's owner: `repository` or `organization`."""
        return "repository" if self.organization is None else "organization"

    def name_in(self, db: Connection, parent: Row) -> str:
        return str(self.organization or self.repository)

    def parent(self, db: Connection) -> Row:
        """Return the organization or the repository. Raises Missing if there is none."""
        if self.organization is not None:
            return organization(db, self.organization)
        return repository_named(db, str(self.repository))

    def find(self, db: Connection, parent: Row) -> object:
        found = pull_request_caps.stored(db, self.whose, parent["id"])
        if found is None or self.organization is not None:
            return found
        return found, pull_request_caps.bypassing(db, parent["id"])

    def write(self, db: Connection, parent: Row, before: object) -> None:
        """Set the cap, and add the users who bypass it."""
        known = pull_request_caps.stored(db, self.whose, parent["id"]) or {"enabled": self.enabled}
        enabled = bool((known | self.given("enabled"))["enabled"])
        pull_request_caps.put(
            db, self.whose, parent["id"], enabled=enabled, most=self.max_open_pull_requests
        )
        if self.bypass:
            users = [user(db, login)["id"] for login in self.bypass]
            pull_request_caps.add_bypass(db, parent["id"], users)
