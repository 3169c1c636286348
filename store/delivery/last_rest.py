"""The last rest of a failing hook, for a worker that has no memory of the hook."""

from dataclasses import dataclass

from store.database.connection import Connection, Row


@dataclass(frozen=True, slots=True)
class Rest:
    """A time in which a hook gets nothing, because its circuit breaker opened."""

    until: int
    """When it ends, in microseconds. It is 0 if a person changed the hook since it began."""
    length: int
    """How long it is, in microseconds. It is 0 if that is not known."""


def last_rest(db: Connection, hook: Row) -> Rest | None:
    """Return the last rest of a failing hook. Return None if its breaker did not open."""
    found = db.one(
        "SELECT h.resting_until, a.started_at + a.duration AS began FROM hook h"
        " LEFT JOIN attempt a ON a.id = (SELECT max(x.id) FROM attempt x WHERE x.hook_id = h.id)"
        " WHERE h.id = :id AND h.resting_until IS NOT NULL AND h.failing_since IS NOT NULL",
        id=hook["id"],
    )
    if found is None:
        return None
    until, began = found["resting_until"], found["began"]
    if began is None:
        return Rest(until, 0)
    return Rest(0 if hook["updated_at"] > began else until, max(until - began, 0))
