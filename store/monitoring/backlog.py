"""The deliveries that wait for the hooks of some owners, as `stats` counts all of them.

The ones that no worker sends are left out: of paused hooks and of pull hooks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from store.database.connection import Connection, json_array
from store.monitoring import name_search
from store.monitoring.stats import LATE, WITHHELD

# The limits of deliveries that are counted for each hook, and of hooks: the newest ones.
MOST, MOST_HOOKS = 1_000, 1_000


@dataclass(frozen=True, slots=True)
class Backlog:
    """The deliveries that wait. `due` are due, `late` of them for long, and `later` will be."""

    due: int
    late: int
    later: int
    oldest_due_at: int | None


def of_owners(db: Connection, repo_ids: Sequence[int], org_ids: Sequence[int] = ()) -> Backlog:
    """Return what waits for the hooks of these repositories and organizations."""
    waits = "FROM delivery x WHERE x.hook_id = f.id AND x.state = 0 AND x.lease_id IS NULL"

    def counted(condition: str) -> str:
        return (
            f"(SELECT count(*) FROM (SELECT x.due_at {waits}{condition}"
            f" ORDER BY x.due_at LIMIT {MOST}) AS c)"
        )

    row = db.required(
        "SELECT sum(g.many) AS many, sum(g.due) AS due, sum(g.late) AS late, min(g.first) AS first"
        f" FROM (SELECT {counted('')} AS many, {counted(' AND x.due_at <= :now')} AS due,"
        f" {counted(' AND x.due_at <= :late')} AS late,"
        f" (SELECT x.due_at {waits} ORDER BY x.due_at LIMIT 1) AS first"
        f" FROM (SELECT h.id FROM ({name_search.hooks_of(db)}) AS h WHERE h.id NOT IN {WITHHELD}"
        # Nothing waits for most hooks. One look finds that.
        f" ORDER BY h.id DESC LIMIT {MOST_HOOKS}) AS f WHERE EXISTS (SELECT 1 {waits})) AS g",
        repos=json_array(repo_ids),
        orgs=json_array(org_ids),
        late=db.now - LATE,
    )
    many, due, late = (int(row[name] or 0) for name in ("many", "due", "late"))
    oldest = row["first"] if row["first"] is not None and row["first"] <= db.now else None
    return Backlog(due, late, many - due, oldest)
