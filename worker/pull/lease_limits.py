"""The limits of a pull hook's leases: how many there may be, and when a fetch may find more."""

from store import Connection, Row
from store.clock import earliest
from store.hooks.hook_ordering import is_ordered
from store.pull import pull_leases

# The limit of leases of one hook at a time. A hook's own `concurrency` may be lower.
MOST_LEASES = 1_000


def room(db: Connection, hook: Row) -> int:
    """Return how many more deliveries of the hook may be leased. A paused hook has no room."""
    if _is_paused(hook):
        return 0
    return max(_most(hook) - pull_leases.held(db, hook["id"]), 0)


def was_full(db: Connection, hook: Row, ended: int) -> bool:
    """Return whether the hook had no room for more before so many of its leases ended."""
    return ended > 0 and pull_leases.held(db, hook["id"]) + ended >= _most(hook)


def next_at(db: Connection, hook: Row) -> int | None:
    """Return when a fetch may find more. None if only a change of the hook can lead to that.

    Without room, a fetch finds nothing until a lease ends, even if deliveries are due.
    """
    due_at = pull_leases.next_due(db, hook["id"]) if room(db, hook) else None
    if due_at is not None:
        due_at = max(due_at, hook["held_until"] or 0)
    return earliest(pull_leases.next_expiry_of(db, hook["id"]), due_at)


def _most(hook: Row) -> int:
    return int(hook["options"].get("concurrency") or MOST_LEASES)


def _is_paused(hook: Row) -> bool:
    """Return whether the hook's deliveries wait for an operator."""
    stopped = not hook["active"] and is_ordered(hook["options"])
    return hook["paused_at"] is not None or stopped
