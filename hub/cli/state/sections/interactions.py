"""Interaction limits and pull request creation caps in a state document."""

from typing import Literal, Self

from pydantic import Field, model_validator

from hub.cli.console.options import account, organization, repository_named, user
from hub.cli.state.base import FullName, Moment, StateEntry, microseconds
from hub.cli.state.changes import StateChange, outcome_of
from store import Connection, Row
from store.repositories import interaction_limits, pull_request_caps
from store.repositories.pull_request_caps import LEAST, MOST


class InteractionLimitEntry(StateEntry):
    """Of a repository, or of all that is an account's. One that is over by now is none; without
    `expires_at` one that is made here ends in a day.
    """

    account: str | None = None
    repository: FullName | None = None
    limit: Literal["existing_users", "contributors_only", "collaborators_only"]
    expires_at: Moment | None = None

    @model_validator(mode="after")
    def _of_one(self) -> Self:
        if (self.account is None) == (self.repository is None):
            raise ValueError("a limit is that of an `account` or of a `repository`")
        return self

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "interaction limit", str(self.account or self.repository).lower()


def interaction_limit(db: Connection, wanted: InteractionLimitEntry) -> StateChange:
    """Limit a repository or an account's. Conflict for a repository whose owner has a limit."""
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
    """Of an organization or of a repository; `bypass` are users whom that of the repository, and
    of its organization, does not hold for there.
    """

    organization: str | None = None
    repository: FullName | None = None
    enabled: bool = True
    max_open_pull_requests: int | None = Field(None, ge=LEAST, le=MOST)
    bypass: list[str] = Field(default_factory=list, max_length=pull_request_caps.MOST_BYPASSING)

    @model_validator(mode="after")
    def _of_one(self) -> Self:
        if (self.organization is None) == (self.repository is None):
            raise ValueError("a cap is that of an `organization` or of a `repository`")
        if self.bypass and self.repository is None:
            raise ValueError("who may bypass a cap is said for a `repository`")
        return self

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "pull request cap", str(self.organization or self.repository).lower()


def pull_request_cap(db: Connection, wanted: PullRequestCapEntry) -> StateChange:
    """Set a cap, and let users bypass it."""
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
