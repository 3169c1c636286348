"""SIGTERM under load: it ends in time, well, and with nothing in its hands."""

import asyncio
import signal

from daemon import Daemon, Ledger, Poster, Site, ledger
from waiting import Stopwatch, until

from worker.tuning import DEFAULTS

# More than are taken in before there are 50 deliveries, whoever is the quicker.
EVENTS = 100_000
# Times that its start took, beside what it gives those who do not answer: then it has ended.
STARTS = 40


async def in_time(daemon: Daemon, number: int = signal.SIGTERM) -> int:
    """How it ends after a signal."""
    taken = Stopwatch()
    code = await daemon.end(number)
    assert taken.seconds() < DEFAULTS.stop_grace + STARTS * daemon.started
    return code


async def ended(site: Site, poster: Poster, receiver: Ledger, number: int) -> None:
    """Send the signal while events come in and go out, and see how it ends."""
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
        assert states["delivered"] == sent, "what was sent was recorded"
        assert states.total() == len(poster.accepted)
        daemon = await site.serve()
        await until(lambda: poster.accepted <= set(receiver.got), "what was accepted")
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
        await until(lambda: poster.accepted == set(receiver.got), "what was accepted")
        assert await worker.end() == 0
        assert site.states() == {"delivered": 200}
        assert receiver.got.total() == 200, "nothing was sent twice"
