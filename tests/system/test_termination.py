"""After SIGTERM under load, a daemon ends in time, with exit code 0 and no leased delivery."""

import asyncio
import signal

from daemon import Daemon, Ledger, Poster, Site, ledger
from waiting import Stopwatch, until

from worker.tuning import DEFAULTS

# More events than the hub can accept before the worker has made 50 deliveries.
EVENTS = 100_000
# The bound of a shutdown, in durations of a start, beyond the grace for hanging requests.
STARTS = 40


async def in_time(daemon: Daemon, number: int = signal.SIGTERM) -> int:
    """Send a signal, check that the daemon ends in time, and return its exit code."""
    taken = Stopwatch()
    code = await daemon.end(number)
    assert taken.seconds() < DEFAULTS.stop_grace + STARTS * daemon.started
    return code


async def ended(site: Site, poster: Poster, receiver: Ledger, number: int) -> None:
    """Send the signal under load. Check the exit code, and that no delivery stays leased."""
    daemon = site.running[-1]
    posting = asyncio.create_task(poster.post())
    await until(lambda: receiver.got.total() >= 50, "50 deliveries")
    assert await in_time(daemon, number) == 0
    await posting
    assert 0 < len(poster.accepted) < EVENTS
    assert not [row for row in site.rows() if row["lease_id"] is not None]
    assert site.integrity() == "ok"


async def test_a_termination_under_load_loses_nothing(site: Site) -> None:
    async with ledger(0.002) as receiver:
        site.hook(receiver)
        await site.serve()
        poster = Poster(site, EVENTS)
        await ended(site, poster, receiver, signal.SIGTERM)
        sent = receiver.got.total()
        states = site.states()
        assert states["delivered"] == sent, "every sent delivery is recorded"
        assert states.total() == len(poster.accepted)
        daemon = await site.serve()
        await until(lambda: poster.accepted <= set(receiver.got), "the delivery of accepted events")
        assert await daemon.end() == 0
        assert site.states() == {"delivered": len(poster.accepted)}
        assert receiver.got.total() == len(poster.accepted), "nothing was sent twice"


async def test_a_termination_beside_a_hanging_endpoint_loses_nothing(site: Site) -> None:
    async with ledger(0.002) as receiver, ledger(3600) as hanging:
        site.hook(hanging, timeout=0.5)
        site.hook(receiver)
        await site.serve()
        poster = Poster(site, EVENTS)
        await ended(site, poster, receiver, signal.SIGINT)


async def test_a_termination_of_the_worker_alone_loses_nothing(site: Site) -> None:
    async with ledger(0.002) as receiver:
        site.hook(receiver)
        _, worker = await asyncio.gather(
            site.serve("--only", "hub"), site.serve("--only", "worker")
        )
        poster = Poster(site, 200)
        posting = asyncio.create_task(poster.post())
        await until(lambda: receiver.got.total() >= 50, "50 deliveries")
        assert await in_time(worker) == 0
        assert not [row for row in site.rows() if row["lease_id"] is not None]
        await posting
        worker = await site.serve("--only", "worker")
        await until(lambda: poster.accepted == set(receiver.got), "the delivery of accepted events")
        assert await worker.end() == 0
        assert site.states() == {"delivered": 200}
        assert receiver.got.total() == 200, "nothing was sent twice"
