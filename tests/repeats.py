"""Which deliveries came more often than the record explains, however fast the machine is."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from worker.settings import WorkerSettings
from worker.tuning import DEFAULTS

# What a kill may make a worker send again: what is in flight, and what waits to be recorded.
AT_A_KILL = WorkerSettings().max_in_flight + DEFAULTS.max_unrecorded


class Sending(NamedTuple):
    """A request: which delivery it was, and the user agent of the process that sent it."""

    delivery: str
    sender: str


@dataclass
class Record:
    """How often each sending is recorded, by how it ended."""

    delivered: Counter[Sending] = field(default_factory=Counter)
    failed: Counter[Sending] = field(default_factory=Counter)

    def add(self, sending: Sending, *, delivered: bool) -> None:
        """Take note of an attempt that is recorded."""
        (self.delivered if delivered else self.failed)[sending] += 1


@dataclass
class Repeats:
    """Sendings that were followed by another one of the same delivery."""

    lost: list[Sending] = field(default_factory=list)
    """Those whose outcome no record has, because what had it was killed."""
    wrong: list[Sending] = field(default_factory=list)
    """Those that had been recorded as delivered, or whose outcome nobody can have lost."""

    @property
    def most_at_a_kill(self) -> int:
        """How many one process has lost at most."""
        return max(Counter(each.sender for each in self.lost).values(), default=0)


def repeats(received: Iterable[tuple[Sending, bool]], record: Record) -> Repeats:
    """Judge what was `received`, in order; each with whether its outcome may have been lost.

    A delivery may be sent again in two cases. Its attempt is recorded as failed. Or nothing is
    recorded of it, and what sent it or kept the record was killed: that excuses one sending of each
    process, for a process has a delivery in flight once.
    """
    by_delivery: defaultdict[str, list[tuple[Sending, bool]]] = defaultdict(list)
    for sending, losable in received:
        by_delivery[sending.delivery].append((sending, losable))
    found = Repeats()
    for sendings in by_delivery.values():
        if len(sendings) > 1:
            _judge(sendings, record, found)
    return found


def _judge(sendings: list[tuple[Sending, bool]], record: Record, found: Repeats) -> None:
    *earlier, (last, _) = sendings
    names = {sending for sending, _ in sendings}
    failed = Counter({name: record.failed[name] for name in names})
    delivered = Counter({name: record.delivered[name] for name in names})
    delivered[last] -= 1
    lost: list[Sending] = []
    for sending, losable in earlier:
        if failed[sending] > 0:
            failed[sending] -= 1
        elif losable and delivered[sending] <= 0 and sending not in lost:
            lost.append(sending)
        else:
            found.wrong.append(sending)
    found.lost += lost
