"""`kill -9` in the middle of the work: accepted events are delivered."""

import asyncio

from daemon import Daemon, Ledger, Poster, Site, ledger
from waiting import PATIENCE, until

EVENTS = 500


async def kill_at(daemon: Daemon, receiver: Ledger, deliveries: int) -> None:
    """Kill the daemon once the receiver has had `deliveries` deliveries."""
    await until(lambda: receiver.got.total() >= deliveries, f"{deliveries} deliveries")
    await daemon.kill()


async def recorded(site: Site) -> None:
    """Wait until each delivery is recorded. After a kill, unrecorded ones are sent again."""
    await until(lambda: set(site.states()) == {"delivered"}, "the record of all deliveries")


def check(site: Site, poster: Poster, receivers: list[Ledger]) -> None:
    for receiver in receivers:
        assert not poster.accepted - set(receiver.got), "accepted and never delivered"
    assert site.integrity() == "ok"
    rows = site.rows()
    assert {row["state"] for row in rows} == {"delivered"}
    assert len(rows) == len(poster.accepted) * len(receivers)
    assert not [row for row in rows if row["lease_id"] is not None]


async def test_nothing_that_was_accepted_is_lost(site: Site) -> None:
    """500 events go to two hooks. The daemon is killed twice while it accepts events, and once
    when only deliveries are left.
    """
    async with ledger(0.002) as first, ledger(0.005) as second:
        receivers = [first, second]
        for receiver in receivers:
            site.hook(receiver)
        poster = Poster(site, EVENTS)
        for accepted in (100, 300):
            daemon = await site.serve()
            posting = asyncio.create_task(poster.post())
            async with asyncio.timeout(PATIENCE):
                await poster.taken_in(accepted)
            await daemon.kill()
            await posting
            assert len(poster.accepted) < EVENTS
            assert "waiting" in site.states(), "no work was left at the kill"
        daemon = await site.serve()
        await poster.post()
        assert len(poster.accepted) == EVENTS
        await kill_at(daemon, first, 350)
        assert "waiting" in site.states(), "no work was left at the kill"
        daemon = await site.serve()
        for receiver in receivers:
            await until(lambda r=receiver: len(r.got) == EVENTS, "all deliveries")
        await recorded(site)
        assert await daemon.end() == 0
        check(site, poster, receivers)
        again = sum(receiver.got.total() - EVENTS for receiver in receivers)
        assert again < EVENTS, "only deliveries in flight are sent again"


async def test_hub_and_worker_apart_each_is_killed(site: Site) -> None:
    """The hub accepts without a worker, and a worker delivers without the hub."""
    async with ledger(0.002) as receiver:
        site.hook(receiver)
        hub, worker = await asyncio.gather(
            site.serve("--only", "hub"), site.serve("--only", "worker")
        )
        poster = Poster(site, EVENTS)
        posting = asyncio.create_task(poster.post())
        await kill_at(worker, receiver, 50)
        known = len(poster.accepted)
        await until(
            lambda: len(poster.accepted) > known or len(poster.accepted) == EVENTS,
            "events that are accepted without a worker",
        )
        worker = await site.serve("--only", "worker")
        await kill_at(hub, receiver, 150)
        await posting
        await until(lambda: poster.accepted <= set(receiver.got), "the delivery of accepted events")
        await site.serve("--only", "hub")
        await poster.post()
        await until(lambda: len(receiver.got) == EVENTS, "all deliveries")
        await recorded(site)
        assert await worker.end() == 0
        check(site, poster, [receiver])
