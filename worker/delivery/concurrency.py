"""Whose turn it is at the limits of requests in flight that all lanes share: one of all, and one of
each machine. Machines take turns, and within one its hosts, and within a host its lanes.
"""

from collections import Counter, deque
from dataclasses import dataclass

from worker.delivery.lane import Lane

# A host may have so many requests in flight for each one that is still free. Alone it gets eight
# ninths, and however many slow hosts there are, something is left for the next.
FAIR_SHARE = 8
UNKNOWN_HOST = ""
"""The host of a lane that has not looked at its hook yet."""


@dataclass(slots=True)
class Permit:
    """A request's place among those in flight: its host and port, and the machine it counts for."""

    host: str
    machine: str
    until: float = 0.0
    """When (in seconds of the event loop's clock) it is for others of the same machine."""


class FairSemaphore:
    """Counts what is in flight, and keeps the lanes that wait, by machine and host. `most` requests
    may be, `per_host` of them to one machine.
    """

    def __init__(self, most: int, per_host: int | None = None) -> None:
        self.most = most
        self.per_host = most if per_host is None else per_host
        self.in_flight = 0
        self._of: Counter[str] = Counter()
        self._on: Counter[str] = Counter()
        self._waiting: dict[str, dict[str, deque[Lane]]] = {}
        # The machines in _parked, in the order in which they have their turns; those that were seen
        # to have what they may stand aside until a request to them ends.
        self._line: dict[str, None] = {}
        self._aside: set[str] = set()

    def change(self, most: int, per_host: int) -> None:
        """Keep to these limits from now on."""
        self.most, self.per_host = most, per_host
        self._line.update(dict.fromkeys(self._aside))
        self._aside.clear()

    def may(self, host: str, machine: str | None = None) -> bool:
        """Whether one more request may go to this host."""
        return self._has_room(
            host, host if machine is None else machine, self.most - self.in_flight
        )

    def _has_room(self, host: str, machine: str, free: int) -> bool:
        if host == UNKNOWN_HOST:
            return free > 0
        scarce = min(free, self.per_host - self._on[machine])
        return scarce > 0 and self._of[host] < FAIR_SHARE * scarce

    def _full(self, machine: str) -> bool:
        return machine != UNKNOWN_HOST and self._on[machine] >= self.per_host

    def take(self, host: str, machine: str | None = None) -> Permit:
        """One more is in flight."""
        self.in_flight += 1
        turn = Permit(host, host if machine is None else machine)
        self._of[host] += 1
        self._on[turn.machine] += 1
        return turn

    def give(self, turn: Permit) -> None:
        """It has ended."""
        self.in_flight -= 1
        self._leave_host(turn.host)
        self._leave_machine(turn.machine)

    def move(self, turn: Permit, host: str, machine: str | None = None) -> bool:
        """Say where a request will go to that was taken up for an unknown host; False where that
        host has had its share.
        """
        machine = host if machine is None else machine
        if not self.may(host, machine):
            return False
        self._leave_host(turn.host)
        self._of[host] += 1
        turn.host = host
        self._count_for(turn, machine)
        return True

    def reach(self, turn: Permit, machine: str) -> bool:
        """Say which machine a request turns out to go to, by whatever name; False where that has
        what it may.
        """
        if machine != turn.machine:
            if self._on[machine] >= self.per_host:
                return False
            self._count_for(turn, machine)
        return True

    def _count_for(self, turn: Permit, machine: str) -> None:
        self._leave_machine(turn.machine)
        self._on[machine] += 1
        turn.machine = machine

    def _leave_host(self, host: str) -> None:
        self._of[host] -= 1
        if not self._of[host]:
            del self._of[host]

    def _leave_machine(self, machine: str) -> None:
        self._on[machine] -= 1
        if not self._on[machine]:
            del self._on[machine]
        if machine in self._aside:
            self._aside.discard(machine)
            self._line[machine] = None

    def wanted(self, machine: str) -> bool:
        """Whether a lane waits that could have the turn of a request to this machine."""
        return machine in self._waiting or self.wanted_elsewhere()

    def wanted_for(self, machine: str) -> bool:
        """Whether a lane waits that is about to send to the same machine."""
        return machine in self._waiting

    def wanted_elsewhere(self) -> bool:
        """Whether a lane waits that could have any turn."""
        if not self._line:
            return False
        free = self.most - self.in_flight + 1
        return any(self._one_of(other, free) is not None for other in self._line)

    def _one_of(self, machine: str, free: int) -> str | None:
        """The host on this machine whose turn it is, if it may have one."""
        if self._full(machine):
            return None
        for host in self._waiting[machine]:
            if self._has_room(host, machine, free):
                return host
        return None

    def enqueue(self, lane: Lane, now: float) -> None:
        """Put the lane at the end of those of its host that wait for a turn."""
        if lane.waiting:
            return
        lane.waiting = True
        lane.waiting_since = now
        machine = lane.machine
        self._waiting.setdefault(machine, {}).setdefault(lane.host, deque()).append(lane)
        if machine not in self._aside:
            self._line.setdefault(machine)

    def next(self) -> Lane | None:
        """The lane whose turn it is, which waits no longer; None where nobody's is."""
        free = self.most - self.in_flight
        if free <= 0:
            return None
        found: tuple[str, str] | None = None
        full: list[str] = []
        for machine in self._line:
            if self._full(machine):
                full.append(machine)
            elif (host := self._one_of(machine, free)) is not None:
                found = machine, host
                break
        for machine in full:
            del self._line[machine]
            self._aside.add(machine)
        return None if found is None else self._unparked(*found)

    def _unparked(self, machine: str, host: str) -> Lane:
        # Machine and host go to the end of their lines.
        del self._line[machine]
        hosts = self._waiting[machine]
        lanes = hosts.pop(host)
        lane = lanes.popleft()
        lane.waiting = False
        if lanes:
            hosts[host] = lanes
        if hosts:
            self._line[machine] = None
        else:
            del self._waiting[machine]
        return lane

    def waiting_since(self) -> float | None:
        """When the first of those was parked that wait for others, and not for their own host."""
        free = max(self.most - self.in_flight, 1)
        moments = (
            lanes[0].waiting_since
            for machine in self._line
            for host, lanes in self._waiting[machine].items()
            if self._has_room(host, machine, free)
        )
        return min(moments, default=None)

    @property
    def held(self) -> int:
        """How many lanes wait because their machine has as many requests in flight as it may."""
        return sum(
            len(lanes)
            for machine, hosts in self._waiting.items()
            for host, lanes in hosts.items()
            if host != UNKNOWN_HOST and not self._has_room(host, machine, self.per_host)
        )
