"""SIGHUP: the settings are read again, and those in force stay where the new ones are no good."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Iterator

from hub.cli.daemon import Daemon
from store.errors import Unusable

log = logging.getLogger("tocsin.serve")


@contextlib.contextmanager
def reloading(daemon: Daemon) -> Iterator[None]:
    """Read the settings again on every SIGHUP during the block."""
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGHUP, asked.set)
    task = loop.create_task(_reload(daemon, asked))
    try:
        yield
    finally:
        task.cancel()
        loop.remove_signal_handler(signal.SIGHUP)
        # Without a handler the signal would end what is just being finished.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


async def _reload(daemon: Daemon, asked: asyncio.Event) -> None:
    while True:
        await asked.wait()
        asked.clear()
        daemon.notifier.reloading()
        try:
            await daemon.change(daemon.read())
            daemon.trouble = ""
        except Unusable as error:
            log.error("the settings stay as they were: %s", error)
            daemon.trouble = "the settings could not be read again and stay as they were"
        except Exception:
            log.exception("the settings could not be put in force")
            daemon.trouble = "the settings could not be put in force"
        daemon.notifier.ready(daemon.status())
