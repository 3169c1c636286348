"""The limits of requests in flight that all lanes share: one for all, and one for each machine.

Machines take turns. The hosts of a machine take turns, and the lanes of a host.
"""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass

from worker.delivery.lane import Lane

# A host may have this many requests in flight for each permit that is still free. A host alone gets
# eight ninths. However many slow hosts there are, some permits are left for the next.
FAIR_SHARE = 8
UNKNOWN_HOST = ""
"""The host of a lane whose hook was not read yet."""


@dataclass(slots=True)
class Permit:
    """The permission for one request: its host and port, and the machine that it counts for."""

    host: str
    machine: str
    until: float = 0.0
    """The time from which other hooks of the same machine go first, by the event loop's clock."""


def _never() -> bool:
    return False


class FairSemaphore:
    """The count of requests in flight, and the queues of lanes that wait.

    At most `most` requests may be in flight, and at most `per_machine` of them to one machine.
    `per_machine` defaults to `most`.
    """

    def __init__(self, most: int, per_machine: int | None = None) -> None:
        self.most = most
        self.per_machine = most if per_machine is None else per_machine
        self.in_flight = 0
        self._by_host: Counter[str] = Counter()
        self._by_machine: Counter[str] = Counter()
        self._waiting: dict[str, dict[str, deque[Lane]]] = {}
        # The machines with waiting lanes, in the order of their turns. A machine that is at its
        # limit is in _full_machines instead, until a request to it ends.
        self._turns: dict[str, None] = {}
        self._full_machines: set[str] = set()

    def change(self, most: int, per_machine: int) -> None:
        """Apply these limits from now on."""
        self.most, self.per_machine = most, per_machine
        self._turns.update(dict.fromkeys(self._full_machines))
        self._full_machines.clear()

    def can_acquire(self, host: str, machine: str) -> bool:
        """Return whether one more request to this host on this machine may be in flight."""
        return self._has_room(host, machine, self.most - self.in_flight)

    def _has_room(self, host: str, machine: str, free: int) -> bool:
        if host == UNKNOWN_HOST:
            return free > 0
        scarce = min(free, self.per_machine - self._by_machine[machine])
        return scarce > 0 and self._by_host[host] < FAIR_SHARE * scarce

    def _is_full(self, machine: str) -> bool:
        return machine != UNKNOWN_HOST and self._by_machine[machine] >= self.per_machine

    def acquire(self, host: str, machine: str, until: float = 0.0) -> Permit:
        """Count one more request in flight. Return its permit, with its `until`."""
        self.in_flight += 1
        self._by_host[host] += 1
        self._by_machine[machine] += 1
        return Permit(host, machine, until)

    def release(self, permit: Permit) -> None:
        """Count a request as ended."""
        self.in_flight -= 1
        self._leave_host(permit.host)
        self._leave_machine(permit.machine)

    def assign_host(self, permit: Permit, host: str, machine: str) -> bool:
        """Count a request of an unknown host for the host that is known now.

        Return False if that host is at its limit.
        """
        if not self.can_acquire(host, machine):
            return False
        self._leave_host(permit.host)
        self._by_host[host] += 1
        permit.host = host
        self._count_for(permit, machine)
        return True

    def assign_machine(self, permit: Permit, machine: str) -> bool:
        """Count a request for the machine that its host resolved to.

        Return False if that machine is at its limit.
        """
        if machine != permit.machine:
            if self._by_machine[machine] >= self.per_machine:
                return False
            self._count_for(permit, machine)
        return True

    def _count_for(self, permit: Permit, machine: str) -> None:
        self._leave_machine(permit.machine)
        self._by_machine[machine] += 1
        permit.machine = machine

    def _leave_host(self, host: str) -> None:
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]

    def _leave_machine(self, machine: str) -> None:
        self._by_machine[machine] -= 1
        if not self._by_machine[machine]:
            del self._by_machine[machine]
        if machine in self._full_machines:
            self._full_machines.discard(machine)
            self._turns[machine] = None

    def is_contended(self, machine: str) -> bool:
        """Return whether a waiting lane could use the permit of a request to this machine."""
        return machine in self._waiting or self.any_could_start()

    def has_waiting(self, machine: str) -> bool:
        """Return whether a lane waits for the same machine."""
        return machine in self._waiting

    def any_could_start(self) -> bool:
        """Return whether a waiting lane could start if one request ended."""
        free = self.most - self.in_flight + 1
        for machine in self._turns:  # noqa: SIM110 - a generator takes longer, and this is often called
            if self._next_host(machine, free) is not None:
                return True
        return False

    def _next_host(self, machine: str, free: int) -> str | None:
        """Return the host of this machine whose turn it is. Return None if none has room."""
        scarce = free
        if machine != UNKNOWN_HOST:
            scarce = min(free, self.per_machine - self._by_machine[machine])
        if scarce > 0:
            for host in self._waiting[machine]:
                if host == UNKNOWN_HOST or self._by_host[host] < FAIR_SHARE * scarce:
                    return host
        return None

    def enqueue(self, lane: Lane, now: float) -> None:
        """Put the lane at the end of its host's queue."""
        if lane.waiting:
            return
        lane.waiting = True
        lane.waiting_since = now
        machine = lane.machine
        self._waiting.setdefault(machine, {}).setdefault(lane.host, deque()).append(lane)
        if machine not in self._full_machines:
            self._turns.setdefault(machine)

    def dequeue(self, is_paused: Callable[[], bool] = _never) -> Lane | None:
        """Remove and return the lane whose turn it is.

        Return None if no lane may start, or if `is_paused` returns True.
        """
        free = self.most - self.in_flight
        if free <= 0:
            return None
        found: tuple[str, str] | None = None
        full: list[str] = []
        for machine in self._turns:
            if (host := self._next_host(machine, free)) is not None:
                found = machine, host
                break
            if self._is_full(machine):
                full.append(machine)
        for machine in full:
            del self._turns[machine]
            self._full_machines.add(machine)
        return None if found is None or is_paused() else self._removed(*found)

    def _removed(self, machine: str, host: str) -> Lane:
        # The machine and the host have their next turn after all others.
        del self._turns[machine]
        hosts = self._waiting[machine]
        lanes = hosts.pop(host)
        lane = lanes.popleft()
        lane.waiting = False
        if lanes:
            hosts[host] = lanes
        if hosts:
            self._turns[machine] = None
        else:
            del self._waiting[machine]
        return lane

    def waiting_since(self) -> float | None:
        """Return since when the first lane waits although its host has room. Return None if none
        does.

        The time is in seconds of the event loop's clock.
        """
        free = max(self.most - self.in_flight, 1)
        moments = (
            lanes[0].waiting_since
            for machine in self._turns
            for host, lanes in self._waiting[machine].items()
            if self._has_room(host, machine, free)
        )
        return min(moments, default=None)

    @property
    def idle(self) -> bool:
        """Return whether no request is in flight or counted for a host or machine."""
        return not (self.in_flight or self._by_host or self._by_machine)

    @property
    def waiting(self) -> int:
        """Return how many lanes wait."""
        return sum(len(lanes) for hosts in self._waiting.values() for lanes in hosts.values())

    @property
    def held(self) -> int:
        """Return how many lanes wait because their machine is at its limit."""
        return sum(
            len(lanes)
            for machine, hosts in self._waiting.items()
            for host, lanes in hosts.items()
            if host != UNKNOWN_HOST and not self._has_room(host, machine, self.per_machine)
        )
