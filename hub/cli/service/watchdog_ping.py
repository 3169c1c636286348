"""The daemon's signs of life for the service manager, as long as all its parts show some."""

import asyncio
import contextlib
import logging
from collections.abc import Iterator

from hub.cli.service.daemon import Daemon
from hub.cli.service.notify import watchdog_seconds
from store.errors import StoreError

log = logging.getLogger("tocsin.serve")

STATUS_EVERY = 10.0


@contextlib.contextmanager
def ping_watchdog(daemon: Daemon) -> Iterator[None]:
    """Tell how it is, and that it is alive while it is, for the length of the block."""
    if not daemon.notifier.heard:
        yield
        return
    patience = watchdog_seconds() or float("inf")
    tasks = [asyncio.create_task(_ping(daemon, patience)), asyncio.create_task(_write(daemon))]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()


async def _ping(daemon: Daemon, patience: float) -> None:
    """That this runs shows that the event loop does; the pulse shows the rest."""
    known = None
    while True:
        stuck = daemon.watchdog.stalled(patience / 2)
        if stuck is None:
            daemon.notifier.alive()
            daemon.notifier.status(daemon.status())
        elif known is None:
            log.critical("%s; the watchdog is left to act", stuck)
            daemon.notifier.status(stuck)
        known = stuck
        await asyncio.sleep(min(STATUS_EVERY, patience / 4))


async def _write(daemon: Daemon) -> None:
    """The writer is asked for nothing, now and then: also a hub that is idle has one."""
    while True:
        with daemon.watchdog.watch("writing"), contextlib.suppress(StoreError):
            await daemon.store.note(lambda db: None)
        await asyncio.sleep(STATUS_EVERY)
