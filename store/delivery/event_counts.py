"""How often each event came lately, and how many hooks subscribe to it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from store.database.connection import Connection, json_array
from store.delivery.incoming import EXAMPLE_SOURCES
from store.hook_state.hook_list import SUBSCRIPTIONS
from store.hooks.event_names import WILDCARD
from store.monitoring import name_search

# The newest events that are counted.
LOOKED = 10_000


@dataclass(frozen=True, slots=True)
class EventCount:
    """The number of events of a name among the newest ones, and the time of the latest."""

    many: int = 0
    latest: int | None = None
    real_id: int | None = None
    """The id of the latest one that is no example; None if there is none."""


def by_name(
    db: Connection, repo_ids: Sequence[int] | None, name: str | None = None
) -> dict[str, EventCount]:
    """Return the counts by event, of these repositories (None: everywhere), or of one event."""
    where, given = _within(db, repo_ids, "f")
    if name is not None:
        where += " AND f.name = :name"
        given["name"] = name
    rows = db.tuples(
        "SELECT f.name, count(*), max(f.received_at),"
        f" max(CASE WHEN f.source_id NOT IN {EXAMPLE_SOURCES} THEN f.id END)"
        " FROM (SELECT e.id, e.name, e.repo_id, e.source_id, e.received_at"
        f" FROM event e ORDER BY e.id DESC LIMIT :looked) AS f WHERE 1 = 1{where} GROUP BY f.name",
        looked=LOOKED,
        **given,
    )
    return {name: EventCount(*values) for name, *values in rows}


def subscribers(
    db: Connection, repo_ids: Sequence[int] | None, org_ids: Sequence[int] = ()
) -> Counter[str]:
    """Return how many hooks get each event.

    `repo_ids` and `org_ids` limit them to hooks of these repositories and organizations. If
    `repo_ids` is None, there is no limit. The hook of an app counts once for all installations.
    """
    where, given = "", {}
    if repo_ids is not None:
        where = f" AND s.hook_id IN ({name_search.hooks_of(db)})"
        given = {"repos": json_array(repo_ids), "orgs": json_array(org_ids)}
    # UNION leaves out repetitions. Only the wildcard means different events in the two tables.
    held = " UNION ".join(
        f"SELECT s.event, s.hook_id, CASE WHEN s.event = '{WILDCARD}' THEN '{table}' ELSE ''"
        f" END AS source FROM {table} s WHERE s.hook_id > 0{where}"
        for table in SUBSCRIPTIONS
    )
    found: Counter[str] = Counter()
    for name, source, many in db.tuples(
        f"SELECT f.event, f.source, count(*) FROM ({held}) AS f GROUP BY f.event, f.source", **given
    ):
        found.update(dict.fromkeys(SUBSCRIPTIONS.get(source, [name]), many))
    return found


def _within(
    db: Connection, repo_ids: Sequence[int] | None, alias: str
) -> tuple[str, dict[str, str]]:
    if repo_ids is None:
        return "", {}
    return f" AND {alias}.repo_id {db.among('repos')}", {"repos": json_array(repo_ids)}
