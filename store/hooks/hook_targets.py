"""The target of a hook, whose events it gets: a repository, an organization, or everything.

Each target has its column in the table `hook`, so the foreign keys delete its hooks with it. A hook
without any is a system hook: it gets the events of the whole installation.
"""

from dataclasses import dataclass
from typing import Any, Literal

from store.database.connection import Row

HookKind = Literal["repository", "organization", "system"]
EVERYWHERE = 0
"""The owner in `owner_subscription` of the events of the whole installation."""
NAMES = (
    "o.login || '/' || r.name AS repository,"
    " CASE WHEN h.org_id IS NOT NULL THEN o.login END AS organization"
)
"""SQL for the name of the target of a hook `h`. Both are null for a system hook."""
NAMED = (
    " LEFT JOIN repository r ON r.id = h.repo_id"
    " LEFT JOIN account o ON o.id = COALESCE(r.owner_id, h.org_id)"
)
"""The joins that NAMES needs."""


@dataclass(frozen=True, slots=True)
class HookTarget:
    """The repository or organization that a hook belongs to. The installation has the id 0."""

    kind: HookKind
    id: int

    @property
    def condition(self) -> str:
        """Return the SQL condition on its hooks, with the parameter :target_id."""
        if self.kind == "repository":
            return "repo_id = :target_id"
        if self.kind == "organization":
            return "org_id = :target_id"
        # The parameter is there so that all conditions have it.
        return "repo_id IS NULL AND org_id IS NULL AND :target_id = 0"

    @property
    def columns(self) -> dict[str, Any]:
        """Return the values of the columns that name a hook's target."""
        return {
            "repo_id": self.id if self.kind == "repository" else None,
            "org_id": self.id if self.kind == "organization" else None,
        }

    @property
    def subscribed(self) -> tuple[str, str]:
        """Return the table of its hooks' subscriptions, and the column that has its id."""
        if self.kind == "repository":
            return "subscription", "repo_id"
        return "owner_subscription", "owner_id"


SYSTEM = HookTarget("system", EVERYWHERE)
"""The whole installation."""


def repository(repo_id: int) -> HookTarget:
    """Return a repository as a target."""
    return HookTarget("repository", repo_id)


def organization(account_id: int) -> HookTarget:
    """Return an organization as a target, by its account's id."""
    return HookTarget("organization", account_id)


def target_of(hook: Row) -> HookTarget:
    """Return the target of a hook."""
    if hook["repo_id"] is not None:
        return repository(hook["repo_id"])
    if hook["org_id"] is not None:
        return organization(hook["org_id"])
    return SYSTEM


def name_of(row: Row) -> str:
    """Return the name of a hook's target, from a row with NAMES."""
    return str(row["repository"] or row["organization"] or "whole installation")


def as_target(target: HookTarget | int) -> HookTarget:
    """Return the target. A number is the id of a repository, which most hooks belong to."""
    return repository(target) if isinstance(target, int) else target
