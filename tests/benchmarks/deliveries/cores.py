"""`tocsin serve` on two cores, against one core. Receiver and client are separate processes.

On a machine with two cores these use a part of the second one. So the processor times are
printed too: on a machine with more cores, the process that takes the most limits the rate.
"""

import contextlib
import os
from collections.abc import Iterator

from tests.benchmarks.harness.figure import Bench, Row, Trial
from tests.benchmarks.harness.receiver import receiving
from tests.benchmarks.harness.served import Served, pinned, served

MANY, SUBSCRIBERS = 2000, 10
# Enough events for the daemon to start its sender processes.
WARMING = 1000
WANTED = 1.6
US = "us"


def measure(bench: Bench) -> Iterator[Row]:
    """Deliveries a second, and the processor time of each part."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        bench.notes.append("One core only: two cores could not be measured.")
        return
    with contextlib.ExitStack() as stack:
        with pinned({usable[1]}):
            # A host gets 64 requests at once, which would limit the rate.
            port = stack.enter_context(receiving(bench, hosts=SUBSCRIBERS))
        sides = {"one": {usable[0]}, "two": set(usable)}
        daemons = {
            name: stack.enter_context(
                served(bench.directory / name, port, SUBSCRIBERS, WARMING, cores, SUBSCRIBERS)
            )
            for name, cores in sides.items()
        }
        before = {name: _spent(daemon) for name, daemon in daemons.items()}
        name = f"delivery, {MANY:,} x {SUBSCRIBERS}, posted to `tocsin serve`"
        turns = bench.turns(name, ours=_trial(daemons["two"]), reference=_trial(daemons["one"]))
        yield turns.row(f"{name}: two cores, of one", "/s", WANTED)
        total = MANY * SUBSCRIBERS * bench.rounds
        spent = {
            name: [
                (now - then) * 1e6 / total for now, then in zip(_spent(daemon), old, strict=True)
            ]
            for (name, daemon), old in zip(daemons.items(), before.values(), strict=True)
        }
        alone, (own, senders) = spent["one"][0], spent["two"]
        figure = "processor time a delivery: the daemon beside its senders, of a daemon alone"
        yield Row(figure, US, own, alone, own / alone)
        yield Row("processor time a delivery: the senders", US, senders, absolute=True)


def _trial(daemon: Served) -> Trial:
    return lambda: daemon.rate(MANY)


def _spent(daemon: Served) -> tuple[float, float]:
    return daemon.server.cpu(), daemon.server.senders_cpu()
