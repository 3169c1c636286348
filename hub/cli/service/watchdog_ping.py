"""The daemon's signs of life for the service manager's watchdog."""

import asyncio
import contextlib
import logging
import math
from collections.abc import Iterator

from hub.cli.service.daemon import Daemon
from hub.cli.service.notify import watchdog_seconds
from store.errors import StoreError

log = logging.getLogger("tocsin.serve")

STATUS_EVERY = 10.0


@contextlib.contextmanager
def ping_watchdog(daemon: Daemon) -> Iterator[None]:
    """Report the daemon's status and its signs of life during the block.

    A sign of life is sent only while neither the event loop, the delivery loop nor the writer is
    stuck.
    """
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
    """Send the status, and signs of life if the service manager asks for them.

    This task runs only while the event loop works. The watchdog object covers the other parts.
    """
    known = None
    while True:
        daemon.notifier.retry()
        stuck = daemon.watchdog.stalled(patience / 2)
        if stuck is None:
            if math.isfinite(patience):
                daemon.notifier.alive()
            daemon.notifier.status(daemon.status())
        elif known is None:
            log.critical(
                "%s; the service manager gets no more pings, and will restart the service", stuck
            )
            daemon.notifier.status(stuck)
        known = stuck
        await asyncio.sleep(min(STATUS_EVERY, patience / 4))


async def _write(daemon: Daemon) -> None:
    """Run an empty transaction now and then. It shows a stuck writer in an idle hub, too."""
    while True:
        with daemon.watchdog.watch("writing"), contextlib.suppress(StoreError):
            await daemon.store.write_relaxed(lambda db: None)
        await asyncio.sleep(STATUS_EVERY)
