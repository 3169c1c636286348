"""How often each event came lately, and how many hooks subscribe to it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from store.database.connection import Connection, json_array
from store.delivery.incoming import EXAMPLE_SOURCE
from store.delivery.subscribers import NOT_OF_APP
from store.hooks.event_names import FITTING, WILDCARD

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
        f" max(CASE WHEN f.source_id <> {EXAMPLE_SOURCE} THEN f.id END)"
        " FROM (SELECT e.id, e.name, e.repo_id, e.source_id, e.received_at"
        f" FROM event e ORDER BY e.id DESC LIMIT :looked) AS f WHERE 1 = 1{where} GROUP BY f.name",
        looked=LOOKED,
        **given,
    )
    return {name: EventCount(*values) for name, *values in rows}


def subscribers(db: Connection, repo_ids: Sequence[int] | None) -> Counter[str]:
    """Return how many hooks of these repositories (None: of all targets) get each event."""
    where, given = _within(db, repo_ids, "s")
    where += "" if repo_ids is None else f" AND {NOT_OF_APP}"
    found: Counter[str] = Counter()
    rows = db.tuples(
        f"SELECT s.event, count(*) FROM subscription s WHERE s.hook_id > 0{where} GROUP BY s.event",
        **given,
    )
    _add(found, rows, FITTING["repository"])
    if repo_ids is None:
        rows = db.tuples("SELECT s.event, count(*) FROM owner_subscription s GROUP BY s.event")
        _add(found, rows, FITTING["system"])
    return found


def _add(found: Counter[str], rows: Iterable[tuple[str, int]], every: Iterable[str]) -> None:
    """Add counts by event. The wildcard stands for every one of the events `every`."""
    for name, many in rows:
        found.update(dict.fromkeys(every if name == WILDCARD else [name], many))


def _within(
    db: Connection, repo_ids: Sequence[int] | None, alias: str
) -> tuple[str, dict[str, str]]:
    if repo_ids is None:
        return "", {}
    ids = f"SELECT id FROM {db.each('repos', id='integer')} AS w"
    return f" AND {alias}.repo_id IN ({ids})", {"repos": json_array(repo_ids)}
