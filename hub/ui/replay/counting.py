"""The count of a replay's selections, some thousand events at a time."""

from dataclasses import dataclass

from store import Connection
from store.delivery.replays import replay_selection
from store.delivery.replays.replay_selection import ReplaySelection


@dataclass(frozen=True, slots=True)
class ReplayCount:
    """How far selections have been counted: within the one of this number, after this event.

    `many` is the number of deliveries until then. `upto` is the last event of that selection.
    """

    number: int = 0
    after: int = 0
    upto: int = 0
    many: int = 0

    def go_on(self, db: Connection, chosen: list[ReplaySelection], looked: int) -> "ReplayCount":
        """Return the count after the next `looked` events of the present selection."""
        if self.number >= len(chosen):
            return self
        one, after, upto = chosen[self.number], self.after, self.upto
        if not after:
            after, upto = replay_selection.id_range(db, one)
        found, behind = replay_selection.count(db, one, after, upto, looked)
        if behind:
            return ReplayCount(self.number, behind, upto, self.many + found)
        return ReplayCount(self.number + 1, 0, 0, self.many + found)
