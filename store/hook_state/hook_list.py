"""Lists of hooks: by health, event, age and endpoint, in several orders, or by their creator."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from store.accounts.permissions import METADATA
from store.database import paging
from store.database.connection import ENDLESS, Connection, Row, json_array
from store.database.list_order import Matches, SortOrder, matches_of
from store.database.patterns import containing
from store.hook_state import hook_health
from store.hooks import hook_targets, hooks
from store.hooks.app_events import PERMISSIONS
from store.hooks.event_names import FITTING, WILDCARD
from store.hooks.hook_targets import NAMED
from store.monitoring import name_search

UNHEALTHY = "unhealthy"
# Names of states to their SQL conditions. An index supports each part of a condition.
STATES = {
    UNHEALTHY: "h.paused_at IS NULL AND (h.active = 1 OR h.disabled_reason IS NOT NULL)"
    " AND h.id IN (SELECT x.id FROM hook x WHERE x.failing_since IS NOT NULL"
    " AND x.deleted_at IS NULL UNION SELECT y.id FROM hook y WHERE y.disabled_reason IS NOT NULL"
    " AND y.deleted_at IS NULL)",
    **hook_health.STATES,
}
# The tables of subscriptions, each with the events that the wildcard in it stands for.
SUBSCRIPTIONS = {
    "subscription": FITTING["repository"],
    "owner_subscription": FITTING["system"],
}
COLUMNS = {
    "endpoint": ("h.url",),
    "health": (
        "CASE WHEN h.disabled_reason IS NOT NULL THEN 0 WHEN h.active = 0 THEN 4"
        " WHEN h.failing_since IS NULL THEN 3 WHEN h.resting_until > :now THEN 1 ELSE 2 END",
        "COALESCE(h.failing_since, 0)",
    ),
    "created": ("h.id",),
}
OF_CREATOR = (
    "FROM hook WHERE org_id = :org_id AND COALESCE(oauth_app_id, 0) = :creator"
    " AND deleted_at IS NULL"
)
"""SQL for the hooks of an organization that an OAuth application created, or its users (0)."""


@dataclass(frozen=True, slots=True)
class HookFilter:
    """A filter for hooks. `repo_ids` and `hook_ids` None mean all hooks.

    `org_ids` adds hooks of organizations. `state` is a key of STATES.
    `event` selects hooks that get it, and those that would get it if they were active. `since` and
    `until` limit when it was created. `upto` keeps out hooks with a higher id, and `hidden_owners`
    the hooks of these owners and repositories.
    """

    repo_ids: Sequence[int] | None = None
    org_ids: Sequence[int] = ()
    hook_ids: Sequence[int] | None = None
    state: str = ""
    event: str = ""
    since: int | None = None
    until: int | None = None
    upto: int | None = None
    hidden_owners: Sequence[int] = ()

    def sql(self, db: Connection) -> tuple[str, dict[str, Any]]:
        """Return what follows FROM, and its parameters."""
        where = ["h.deleted_at IS NULL"]
        given: dict[str, Any] = {}
        if self.state in STATES:
            where.append(STATES[self.state])
        for name, condition in (
            ("since", "h.created_at >= :since"),
            ("until", "h.created_at < :until"),
            ("upto", "h.id <= :upto"),
        ):
            if (value := getattr(self, name)) is not None:
                where.append(condition)
                given[name] = value
        if self.event:
            held, names = _held(self.event)
            where.append(_subscribes(self.event, held))
            names |= {"listed": self.event, "every": WILDCARD}
            given |= {key: containing(json.dumps(name)) for key, name in names.items()}
            given["event"] = self.event
        if self.repo_ids is not None:
            # In SQLite, a join would begin with the hooks of everybody, from the newest on.
            where.append(f"h.id IN ({name_search.hooks_of(db)})")
            given |= {"repos": json_array(self.repo_ids), "orgs": json_array(self.org_ids)}
        if self.hook_ids is not None:
            where.append(f"h.id {db.among('hooks')}")
            given["hooks"] = json_array(self.hook_ids)
        if self.hidden_owners:
            where.append(f"(o.id IS NULL OR o.id NOT {db.among('hidden')})")
            given["hidden"] = json_array(self.hidden_owners)
        return f"hook h{NAMED} WHERE {' AND '.join(where)}", given


def _subscribes(event: str, held: str) -> str:
    """Return the SQL condition of `HookFilter.event`, with :event, and :listed and :every in JSON.

    Only active hooks have subscriptions. `held` is the condition of `_held`.
    """
    # The wildcard stands for some events of the platform, and for none of the hub.
    found = " UNION ALL ".join(
        f"SELECT s.hook_id FROM {table} s WHERE s.hook_id = h.id AND s.event IN (:event"
        + (f", '{WILDCARD}')" if event in every else ")")
        for table, every in SUBSCRIPTIONS.items()
    )
    listed = f"h.events LIKE :every ESCAPE '!' AND ({_fitting(event)})"
    installed = (
        "EXISTS (SELECT 1 FROM installation i JOIN app p ON p.id = i.app_id"
        " WHERE i.app_id = h.app_id AND i.suspended_at IS NULL AND (i.events LIKE :listed ESCAPE"
        f" '!' OR i.events LIKE :every ESCAPE '!') AND ({held}))"
    )
    return (
        f"CASE WHEN h.active = 1 THEN EXISTS ({found})"
        f" ELSE (h.events LIKE :listed ESCAPE '!' OR ({listed}))"
        f" AND (h.app_id IS NULL OR {installed}) END"
    )


def _held(event: str) -> tuple[str, dict[str, str]]:
    """Return the SQL condition on installations whose permissions cover an event.

    Its parameters are names of permissions in JSON, which are returned too.
    """
    wanted = PERMISSIONS.get(event, frozenset())
    if METADATA.keys() & wanted:
        return "1 = 1", {}
    names = {f"held_{name}": name for name in sorted(wanted)}
    both = "i.permissions LIKE :{0} ESCAPE '!' AND p.permissions LIKE :{0} ESCAPE '!'"
    return " OR ".join(both.format(key) for key in names) or "1 = 0", names


def _fitting(event: str) -> str:
    """Return the SQL condition on hooks whose wildcard stands for an event."""
    columns = hook_targets.COLUMNS
    kinds = [f"h.{name} IS NOT NULL" for kind, name in columns.items() if event in FITTING[kind]]
    if event in FITTING["system"]:
        kinds.append(" AND ".join(f"h.{name} IS NULL" for name in columns.values()))
    return " OR ".join(kinds) or "1 = 0"


NEWEST_FIRST = SortOrder("created", descending=True)


def page(
    db: Connection,
    wanted: HookFilter,
    *,
    limit: int,
    order: SortOrder = NEWEST_FIRST,
    skip: int = 0,
) -> list[Row]:
    """Return a page of hooks with their health, `skip` of them left out."""
    source, given = wanted.sql(db)
    sql = order.sql(COLUMNS, "h.id DESC")
    rows = db.all(
        f"SELECT {hook_health.COLUMNS} FROM {source} ORDER BY {sql} LIMIT :limit OFFSET :skip",
        limit=limit,
        skip=skip,
        **given,
    )
    for row in rows:
        row["events"] = json.loads(row["events"])
    return hook_health.with_health(db, rows)


def count(db: Connection, wanted: HookFilter) -> Matches:
    """Return the number of matching hooks, up to MOST."""
    source, given = wanted.sql(db)
    return matches_of(db, f"SELECT h.id FROM {source}", **given)


def latest(db: Connection) -> int:
    """Return the highest id of a hook, or 0."""
    return db.optional_number("SELECT max(id) FROM hook") or 0


def page_of_creator(
    db: Connection, organization_id: int, oauth_app_id: int | None, *, limit: int, offset: int = 0
) -> list[Row]:
    """Return a page of an organization's hooks that an OAuth application created, oldest first.

    None means the hooks that users created.
    """
    query = f"SELECT {hooks.COLUMNS} {OF_CREATOR} ORDER BY id"
    creator = oauth_app_id or 0
    found = paging.page(db, query, limit, offset, org_id=organization_id, creator=creator)
    return [hooks.decode_row(row) for row in found]


def count_of_creator(
    db: Connection, organization_id: int, oauth_app_id: int | None, most: int = ENDLESS
) -> int:
    """Return how many hooks `page_of_creator` has, up to `most`."""
    query = f"SELECT id {OF_CREATOR}"
    return paging.count(db, query, most, org_id=organization_id, creator=oauth_app_id or 0)
