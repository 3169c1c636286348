"""`tocsin serve` with a sender process under load: kills and signals lose no delivery."""

import asyncio
import os
import signal
from pathlib import Path

from daemon import Daemon, Ledger, Poster, Site, ledger
from waiting import until

from worker.senders.child import PROGRAM

EVENTS = 300
AT_ONCE = "worker.tuning.DEFAULTS = worker.tuning.Tuning(senders_start_at=1)"
RETRIED = {"retries": [0, 0, 0, 0]}
# References, without which the tasks could be garbage-collected.
POSTING: set[asyncio.Task[None]] = set()


def senders_of(daemon: Daemon) -> list[int]:
    """The ids of the sender processes of a daemon.

    Until a child runs its own program, it has the command line of the daemon.
    """
    pid, program = daemon.process.pid, PROGRAM.encode()
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found if program in command_of(int(child))]


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


async def sending(site: Site, receivers: list[Ledger], poster: Poster) -> tuple[Daemon, int]:
    """Start a daemon and the posting of events. Return it and the id of its sender process."""
    for receiver in receivers:
        site.hook(receiver, **RETRIED)
    daemon = await site.serve(TOCSIN_SENDERS="1", TOCSIN_BREAKER="0", patch=AT_ONCE)
    POSTING.add(asyncio.create_task(poster.post()))
    (pid,) = await until(lambda: senders_of(daemon), "a sender process")
    return daemon, pid


async def all_delivered(site: Site, receivers: list[Ledger], poster: Poster) -> None:
    await until(lambda: len(poster.accepted) == EVENTS, "all events")
    for receiver in receivers:
        await until(lambda r=receiver: len(r.got) == EVENTS, "all deliveries")
    await until(lambda: set(site.states()) == {"delivered"}, "the record of all deliveries")


async def test_a_killed_sender_loses_nothing(site: Site) -> None:
    async with ledger(0.002) as first, ledger(0.005) as second:
        receivers, poster = [first, second], Poster(site, EVENTS)
        daemon, pid = await sending(site, receivers, poster)
        os.kill(pid, signal.SIGKILL)
        await all_delivered(site, receivers, poster)
        again = sum(receiver.got.total() - EVENTS for receiver in receivers)
        assert again <= 64, "only deliveries in flight to two hooks are sent again"
        assert await daemon.end() == 0
        assert site.integrity() == "ok"


async def test_no_sender_outlives_a_killed_daemon(site: Site) -> None:
    async with ledger(0.002) as receiver:
        poster = Poster(site, EVENTS)
        daemon, pid = await sending(site, [receiver], poster)
        await daemon.kill()
        await until(lambda: not command_of(pid), "the end of the sender process")
        daemon = await site.serve()
        await poster.post()
        await all_delivered(site, [receiver], poster)
        assert await daemon.end() == 0


async def test_a_signal_to_all_processes_ends_them_in_their_order(site: Site) -> None:
    """A service manager signals all processes. The sender works until the worker ends it."""
    async with ledger(0.002) as receiver:
        poster = Poster(site, EVENTS)
        daemon, pid = await sending(site, [receiver], poster)
        os.kill(pid, signal.SIGTERM)
        assert await daemon.end() == 0
        assert not command_of(pid)
        rows = site.rows()
        assert not [row for row in rows if row["lease_id"] is not None]
        delivered = sum(row["state"] == "delivered" for row in rows)
        assert receiver.got.total() == delivered, "every sent delivery is recorded"
