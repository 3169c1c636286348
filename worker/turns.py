"""Whose turn it is at the limit of requests in flight that all lanes share: hosts take turns, and
within a host its lanes.
"""

from collections import Counter, deque
from dataclasses import dataclass

from worker.lane import Lane

# A host may have so many requests in flight for each one that is still free. Alone it gets eight
# ninths, and however many slow hosts there are, something is left for the next.
SHARE = 8
UNKNOWN = ""
"""The host of a lane that has not looked at its hook yet."""


@dataclass(slots=True)
class Turn:
    """A request's place among those in flight."""

    host: str


class Turns:
    """Counts what is in flight, and keeps the lanes that wait, by host."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.in_flight = 0
        self._of: Counter[str] = Counter()
        self._parked: dict[str, deque[Lane]] = {}

    def may(self, host: str) -> bool:
        """Whether one more request may go to this host."""
        return self._room(host, self.most - self.in_flight)

    def _room(self, host: str, free: int) -> bool:
        return free > 0 and (host == UNKNOWN or self._of[host] < SHARE * free)

    def take(self, host: str) -> Turn:
        """One more is in flight."""
        self.in_flight += 1
        self._of[host] += 1
        return Turn(host)

    def give(self, turn: Turn) -> None:
        """It has ended."""
        self.in_flight -= 1
        self._leave(turn)

    def move(self, turn: Turn, host: str) -> bool:
        """Say where a request will go to that was taken up for an unknown host; False where that
        host has had its share.
        """
        if not self.may(host):
            return False
        self._leave(turn)
        self._of[host] += 1
        turn.host = host
        return True

    def _leave(self, turn: Turn) -> None:
        self._of[turn.host] -= 1
        if not self._of[turn.host]:
            del self._of[turn.host]

    def wanted(self, host: str) -> bool:
        """Whether a lane waits that could have the turn of this host's request."""
        if not self._parked:
            return False
        free = self.most - self.in_flight + 1
        return host in self._parked or any(self._room(other, free) for other in self._parked)

    def park(self, lane: Lane, now: float) -> None:
        """Put the lane at the end of those of its host that wait for a turn."""
        if not lane.parked:
            lane.parked = True
            lane.parked_at = now
            self._parked.setdefault(lane.host, deque()).append(lane)

    def next(self) -> Lane | None:
        """The lane whose turn it is, which waits no longer; None where nobody's is."""
        for host, lanes in self._parked.items():
            if self.may(host):
                lane = lanes.popleft()
                lane.parked = False
                # The host goes to the end of the line.
                del self._parked[host]
                if lanes:
                    self._parked[host] = lanes
                return lane
        return None

    def waits_since(self) -> float | None:
        """When the first of those was parked that wait for others, and not for their own host."""
        free = max(self.most - self.in_flight, 1)
        moments = (
            lanes[0].parked_at for host, lanes in self._parked.items() if self._room(host, free)
        )
        return min(moments, default=None)
