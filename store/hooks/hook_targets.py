"""The target of a hook, whose events it gets: a repository, an organization, an app, or everything.

Each target has its column in the table `hook`, so the foreign keys delete its hooks with it. A hook
without any is a system hook: it gets the events of the whole installation. The hook of an app gets
the events of the accounts on which the app is installed.
"""

from dataclasses import dataclass
from typing import Any, Literal

from store.database.connection import Row

HookKind = Literal["repository", "organization", "app", "system"]
COLUMNS = {"repository": "repo_id", "organization": "org_id", "app": "app_id"}
"""By kind of target: the column that has its id."""
TARGETS = ", ".join(COLUMNS.values())
TYPES: dict[HookKind, str] = {"app": "integration"}
"""The types in the headers of deliveries, for kinds that have another name there."""
MANY_OWNERS: tuple[HookKind, ...] = ("app", "system")
"""The kinds whose hooks get events of many owners, so that only operators see these hooks."""
EVERYWHERE = 0
"""The owner in `owner_subscription` of the events of the whole installation."""
NAMES = (
    "o.login || '/' || r.name AS repository,"
    " CASE WHEN h.org_id IS NOT NULL THEN o.login END AS organization, p.slug AS app"
)
"""SQL for the name of the target of a hook `h`. All are null for a system hook."""
OF_HOOK = (
    "h.org_id AS hook_org_id,"
    " CASE WHEN h.id IS NOT NULL AND h.deleted_at IS NULL THEN 0 ELSE 1 END AS hook_gone"
)
"""SQL for the organization of a hook `h`, and for whether the hook was deleted."""
NAMED = (
    " LEFT JOIN repository r ON r.id = h.repo_id"
    " LEFT JOIN account o ON o.id = COALESCE(r.owner_id, h.org_id)"
    " LEFT JOIN app p ON p.id = h.app_id"
)
"""The joins that NAMES needs."""


@dataclass(frozen=True, slots=True)
class HookTarget:
    """The repository, organization or app that a hook belongs to, or the whole installation.

    The whole installation has the id 0.
    """

    kind: HookKind
    id: int

    @property
    def condition(self) -> str:
        """Return the SQL condition on its hooks, with the parameter :target_id."""
        if self.kind in COLUMNS:
            return f"{COLUMNS[self.kind]} = :target_id"
        # Callers bind :target_id whatever the kind is, so this condition has the parameter, too.
        return " AND ".join([f"{name} IS NULL" for name in COLUMNS.values()] + [":target_id = 0"])

    @property
    def columns(self) -> dict[str, Any]:
        """Return the values of the columns that name a hook's target."""
        return {name: self.id if self.kind == kind else None for kind, name in COLUMNS.items()}

    @property
    def type(self) -> str:
        """Return the type of target in the headers of deliveries."""
        return TYPES.get(self.kind, self.kind)

    @property
    def subscribed(self) -> tuple[str, str]:
        """Return the table of its hooks' subscriptions, and the column that has its id."""
        if self.kind == "repository":
            return "subscription", "repo_id"
        return "owner_subscription", "owner_id"


SYSTEM = HookTarget("system", EVERYWHERE)
"""The whole installation."""


def repository(repo_id: int) -> HookTarget:
    return HookTarget("repository", repo_id)


def organization(account_id: int) -> HookTarget:
    return HookTarget("organization", account_id)


def app(app_id: int) -> HookTarget:
    return HookTarget("app", app_id)


def target_of(hook: Row) -> HookTarget:
    if hook["repo_id"] is not None:
        return repository(hook["repo_id"])
    if hook["org_id"] is not None:
        return organization(hook["org_id"])
    return SYSTEM if hook["app_id"] is None else app(hook["app_id"])


def name_of(row: Row) -> str:
    """Return the name of a hook's target, from a row with NAMES."""
    named = row["repository"] or row["organization"] or row["app"]
    return "whole installation" if named is None else str(named)


def as_target(target: HookTarget | int) -> HookTarget:
    """Return the target. A number is the id of a repository, which most hooks belong to."""
    return repository(target) if isinstance(target, int) else target
