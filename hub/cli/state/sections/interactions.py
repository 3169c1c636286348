"""The sections `interaction_limits` and `pull_request_caps`."""

from typing import Literal, Self

from pydantic import Field, model_validator

from hub.cli.console.options import account, organization, repository_named, user
from hub.cli.state.base import FullName, Moment, StateEntry, microseconds
from hub.cli.state.changes import StateChange, outcome_of
from store import Connection, Row
from store.repositories import interaction_limits, pull_request_caps
from store.repositories.pull_request_caps import LEAST, MOST


class InteractionLimitEntry(StateEntry):
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
    def known_by(self) -> tuple[str, str] | None:
        return "interaction limit", str(self.account or self.repository).lower()


def interaction_limit(db: Connection, wanted: InteractionLimitEntry) -> StateChange:
    """Limit a repository, or all repositories of an account.

    Raises Conflict for a repository whose owner has a limit.
    """
    name = str(wanted.account or wanted.repository)
    before = _limit(db, wanted)
    given = None if wanted.expires_at is None else microseconds(wanted.expires_at)
    over = given is not None and given <= db.now
    same = before is not None and before["allowed"] == wanted.limit
    if over or (same and given in (None, before and before["expires_at"])):
        return StateChange("interaction limit", name, "unchanged")
    ends = given or interaction_limits.ends_at(db.now, "one_day")
    if wanted.account is not None:
        whose = account(db, wanted.account)
        interaction_limits.limit_account(db, whose["id"], wanted.limit, ends)
    else:
        repo = repository_named(db, name)
        interaction_limits.limit_repository(db, repo, wanted.limit, ends)
    return StateChange("interaction limit", name, "created" if before is None else "updated")


def _limit(db: Connection, wanted: InteractionLimitEntry) -> Row | None:
    if wanted.account is not None:
        return interaction_limits.of_account(db, account(db, wanted.account)["id"])
    found = interaction_limits.in_force(db, repository_named(db, str(wanted.repository)))
    return None if found is None or found["repo_id"] is None else found


class PullRequestCapEntry(StateEntry):
    """A cap on open pull requests of an organization or of a repository. `bypass` lists users for
    whom no cap applies in the repository, neither its own nor its organization's.
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
    def known_by(self) -> tuple[str, str] | None:
        return "pull request cap", str(self.organization or self.repository).lower()


def pull_request_cap(db: Connection, wanted: PullRequestCapEntry) -> StateChange:
    """Set a cap, and add the users who bypass it."""
    name = str(wanted.organization or wanted.repository)
    if wanted.organization is not None:
        whose, key = "organization", organization(db, name)["id"]
    else:
        whose, key = "repository", repository_named(db, name)["id"]
    is_new = pull_request_caps.stored(db, whose, key) is None
    before = _cap(db, whose, key)
    pull_request_caps.put(
        db, whose, key, enabled=wanted.enabled, most=wanted.max_open_pull_requests
    )
    if wanted.bypass:
        users = [user(db, login)["id"] for login in wanted.bypass]
        pull_request_caps.add_bypass(db, key, users)
    outcome = "created" if is_new else outcome_of(before, _cap(db, whose, key))
    return StateChange("pull request cap", name, outcome)


def _cap(db: Connection, whose: str, key: int) -> object:
    listed = pull_request_caps.bypassing(db, key) if whose == "repository" else []
    return pull_request_caps.get(db, whose, key), [row["id"] for row in listed]
