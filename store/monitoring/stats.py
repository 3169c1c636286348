"""The state of deliveries: backlog, lag and failures, at a bounded cost.

Each count reads an index that has only the rows in question, and ends at a limit.
"""

from dataclasses import dataclass, field

from store.clock import MINUTE, SECOND, earliest
from store.database import migrations, paging, upsert
from store.database.connection import Connection, Row
from store.database.id_search import each_value
from store.jobs import jobs
from store.monitoring.shards import own_shard

# Counts end at this number.
MOST = 250_000
# The limit of hooks whose waiting deliveries are counted, or searched for the longest wait.
MOST_HOOKS = 50_000
# The deliveries of paused hooks wait for an operator, and the ones of pull hooks for a receiver: no
# worker is late with them.
WITHHELD = (
    "(SELECT p.id FROM hook p WHERE p.paused_at IS NOT NULL UNION ALL"
    " SELECT o.hook_id FROM hook_ordering o WHERE o.stopped = 1 UNION ALL"
    " SELECT q.id FROM hook q WHERE q.pull = 1)"
)
# Deliveries `x` that wait and that nobody has claimed: exactly the ones in an index.
_FREE = "x.state = 0 AND x.lease_id IS NULL"
# A delivery that is due for longer than this is late.
LATE = 10 * MINUTE
# Workers renew their leases every five seconds.
SILENT = 15 * SECOND


@dataclass(frozen=True, slots=True)
class DeliveryStats:
    """The state at the time `now`. Times are in microseconds.

    `due`, `later` and `held` are numbers of deliveries.
    """

    now: int
    oldest_due_at: int | None
    """The due time of the delivery that has been due longest without an outcome."""
    due: int
    late: int
    """Due deliveries that have been due for longer than LATE."""
    later: int
    """Deliveries that wait for their next attempt."""
    held: int
    """Deliveries that workers have claimed."""
    failing: int
    """Hooks whose last deliveries failed."""
    disabled: int
    paused: int
    """Hooks that are paused."""
    leases: list[Row]
    """The workers' leases, each with `holder`, `seen_at`, and `lag` in microseconds."""
    jobs: list[Row]
    alerts: dict[str, int] = field(default_factory=dict)
    """How many alerts of each kind are open; kinds without any are left out."""
    events_left_out: int = 0
    """Events that could not be turned into state."""
    oldest_stateless_at: int | None = None
    """When the oldest event was received that has not become state, or None."""

    @property
    def workers(self) -> list[Row]:
        """Return the leases that were renewed recently."""
        return [lease for lease in self.leases if self._silence(lease) <= SILENT]

    @property
    def age(self) -> int:
        """Return for how many microseconds the oldest due delivery has been due."""
        return 0 if self.oldest_due_at is None else max(self.now - self.oldest_due_at, 0)

    @property
    def lag(self) -> int:
        """Return for how many microseconds deliveries wait for workers and not for endpoints."""
        if not self.leases:
            return self.age
        return min(self.age, max(self._lag_of(lease) for lease in self.leases))

    @property
    def state_lag(self) -> int:
        """Return for how many microseconds the oldest such event has waited to become state."""
        return max(self.now - (self.oldest_stateless_at or self.now), 0)

    def _lag_of(self, lease: Row) -> int:
        silence = self._silence(lease)
        return silence if silence > SILENT else int(lease["lag"])

    def _silence(self, lease: Row) -> int:
        return self.now - int(lease["seen_at"])


def collect(db: Connection) -> DeliveryStats:
    due, late, later = count_waiting(db)
    return DeliveryStats(
        db.now,
        oldest_due_at(db),
        due,
        late,
        later,
        count_held(db),
        _hooks(db, "failing_since"),
        _hooks(db, "disabled_reason"),
        _hooks(db, "paused_at"),
        _leases(db),
        jobs.every(db),
        _open_alerts(db),
        *count_stateless(db),
    )


def count_stateless(db: Connection) -> tuple[int, int | None]:
    """Return how many events were left out of the state.

    Return also when the oldest event was received that is still to become state, or None.
    """
    ((left_out, oldest),) = db.tuples(
        "SELECT COALESCE(max(r.skipped), 0), (SELECT e.received_at FROM event e WHERE e.id >"
        " COALESCE((SELECT c.event_id FROM reflection c WHERE c.id = 1), 0) ORDER BY e.id LIMIT 1)"
        " FROM reflection r WHERE r.id = 1"
    )
    return left_out, oldest


def oldest_due_at(db: Connection) -> int | None:
    """Return the due time of the delivery that has been due longest, claimed or not, or None.

    If more than 50,000 hooks have deliveries, only the first of them are searched.
    """
    return earliest(_oldest_free(db), _oldest_held(db))


def _oldest_free(db: Connection) -> int | None:
    found = db.optional_number(
        "WITH RECURSIVE w (hook_id, step) AS ("
        f" SELECT min(x.hook_id), 1 FROM delivery x WHERE {_FREE}"
        f" UNION ALL SELECT (SELECT min(x.hook_id) FROM delivery x WHERE {_FREE}"
        " AND x.hook_id > w.hook_id), w.step + 1"
        " FROM w WHERE w.hook_id IS NOT NULL AND w.step < :most)"
        f" SELECT min(f.due_at) FROM (SELECT (SELECT min(x.due_at) FROM delivery x WHERE {_FREE}"
        " AND x.hook_id = w.hook_id) AS due_at FROM w WHERE w.hook_id IS NOT NULL"
        f" AND w.hook_id NOT IN {WITHHELD}) AS f",
        most=MOST_HOOKS,
    )
    return found if found is not None and found <= db.now else None


def _oldest_held(db: Connection) -> int | None:
    return db.optional_number(
        f"{each_value('delivery', 'lease_id', above=0)}"
        " SELECT min(f.due_at) FROM (SELECT (SELECT min(x.due_at) FROM delivery x"
        " WHERE x.lease_id = w.lease_id) AS due_at FROM w WHERE w.lease_id IS NOT NULL) AS f"
    )


def count_waiting(db: Connection) -> tuple[int, int, int]:
    """Return how many deliveries are due, how many of them for long, and how many will be due.

    Paused hooks and pull hooks are left out. Each number has its own limit, so that none hides
    another. If more than 50,000 hooks have deliveries, only the first of them are searched.
    """
    rows = db.tuples(
        "WITH RECURSIVE w (hook_id, step, late, fresh, later) AS ("
        f" SELECT min(x.hook_id), 1, 0, 0, 0 FROM delivery x WHERE {_FREE}"
        f" UNION ALL SELECT (SELECT min(x.hook_id) FROM delivery x WHERE {_FREE}"
        f" AND x.hook_id > w.hook_id), w.step + 1, {_count('late', 'x.due_at <= :late')},"
        f" {_count('fresh', 'x.due_at > :late AND x.due_at <= :now')},"
        f" {_count('later', 'x.due_at > :now')}"
        " FROM w WHERE w.hook_id IS NOT NULL AND w.step <= :hooks)"
        " SELECT max(w.late), max(w.fresh), max(w.later) FROM w",
        late=db.now - LATE,
        most=MOST,
        hooks=MOST_HOOKS,
    )
    late, fresh, later = (min(value, MOST) for value in rows[0])
    return min(late + fresh, MOST), late, later


def _count(name: str, when: str) -> str:
    """Return SQL for the sum `name` with the deliveries of the hook of `w` for which `when` holds.

    A sum that has reached the limit, and a hook to which no worker sends, add no cost.
    """
    return (
        f"CASE WHEN w.{name} >= :most OR w.hook_id IN {WITHHELD} THEN w.{name} ELSE w.{name} +"
        f" (SELECT CAST(count(*) AS INTEGER) FROM (SELECT x.due_at FROM delivery x WHERE {_FREE}"
        f" AND x.hook_id = w.hook_id AND {when} LIMIT :most) AS c) END"
    )


def count_held(db: Connection) -> int:
    """Return how many deliveries workers hold."""
    return paging.count(
        db,
        "SELECT x.due_at FROM delivery x WHERE x.lease_id > 0 ORDER BY x.lease_id, x.due_at",
        MOST,
    )


def _hooks(db: Connection, column: str) -> int:
    return paging.count(
        db,
        f"SELECT h.id FROM hook h WHERE h.{column} IS NOT NULL"
        " AND h.deleted_at IS NULL ORDER BY h.id",
        MOST,
    )


def _open_alerts(db: Connection) -> dict[str, int]:
    return db.mapping("SELECT kind, count(*) FROM alert WHERE closed_at IS NULL GROUP BY kind")


def _leases(db: Connection) -> list[Row]:
    return db.all(
        "SELECT id, holder, seen_at, lag, expires_at FROM lease WHERE expires_at > :now ORDER BY id"
    )


def probe(db: Connection) -> None:
    """Write this process's row to find out whether writing is possible."""
    upsert.insert_or_replace(db, "probe", {"id": own_shard(), "tried_at": db.now}, "id")


def migrations_ahead(db: Connection) -> int:
    """Return by how many migrations the database is newer than this program."""
    known = migrations.steps()[-1][0]
    newest = db.optional_number("SELECT max(number) FROM migration") or 0
    return max(newest - known, 0)
