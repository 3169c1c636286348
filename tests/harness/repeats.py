"""Finds deliveries that were sent more often than their recorded attempts explain.

The result does not depend on the machine's speed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from worker.settings import WorkerSettings
from worker.tuning import DEFAULTS

# The most deliveries that a killed worker may cause to be sent again: the ones in flight, and the
# ones whose outcomes wait to be recorded.
AT_A_KILL = WorkerSettings().max_in_flight + DEFAULTS.max_unrecorded


class Sending(NamedTuple):
    """A request: its delivery, and the user agent of the process that sent it."""

    delivery: str
    sender: str


@dataclass
class Record:
    """The number of recorded attempts of each sending, by their outcome."""

    delivered: Counter[Sending] = field(default_factory=Counter)
    failed: Counter[Sending] = field(default_factory=Counter)

    def add(self, sending: Sending, *, delivered: bool) -> None:
        """Count an attempt that is recorded."""
        (self.delivered if delivered else self.failed)[sending] += 1


@dataclass
class Repeats:
    """The sendings that were followed by another one of the same delivery."""

    lost: list[tuple[Sending, str]] = field(default_factory=list)
    """The sendings without a recorded outcome, each with the kill that lost it."""
    wrong: list[Sending] = field(default_factory=list)
    """The sendings that were recorded as delivered, or whose outcome no kill can have lost."""

    @property
    def most_at_a_kill(self) -> int:
        """Return the most sendings of one process that one kill has lost."""
        kills = Counter((sending.sender, kill) for sending, kill in self.lost)
        return max(kills.values(), default=0)


def repeats(received: Iterable[tuple[Sending, str | None]], record: Record) -> Repeats:
    """Judge the `received` sendings, in order. Each comes with the kill that may have lost its
    outcome, or None.

    A delivery may be sent again in two cases. Its attempt is recorded as failed. Or nothing is
    recorded, and the process that sent it or kept the record was killed. Each kill excuses one
    sending of each process, because a process has a delivery in flight only once. A worker may lose
    an outcome when the database is killed, send the delivery again, and lose the second outcome
    when the worker itself is killed.
    """
    by_delivery: defaultdict[str, list[tuple[Sending, str | None]]] = defaultdict(list)
    for sending, kill in received:
        by_delivery[sending.delivery].append((sending, kill))
    found = Repeats()
    for sendings in by_delivery.values():
        if len(sendings) > 1:
            _judge(sendings, record, found)
    return found


def _judge(sendings: list[tuple[Sending, str | None]], record: Record, found: Repeats) -> None:
    *earlier, (last, _) = sendings
    names = {sending for sending, _ in sendings}
    failed = Counter({name: record.failed[name] for name in names})
    delivered = Counter({name: record.delivered[name] for name in names})
    delivered[last] -= 1
    lost: list[tuple[Sending, str]] = []
    for sending, kill in earlier:
        if failed[sending] > 0:
            failed[sending] -= 1
        elif kill and delivered[sending] <= 0 and (sending, kill) not in lost:
            lost.append((sending, kill))
        else:
            found.wrong.append(sending)
    found.lost += lost
