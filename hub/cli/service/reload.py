"""SIGHUP: the settings are read again, and those in force stay where the new ones are no good."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Iterator

from hub.cli.service.audit_actor import actor
from hub.cli.service.daemon import Daemon
from store.audit import audit_log
from store.audit.audit_log import AuditEntry
from store.errors import StoreError, Unusable

log = logging.getLogger("tocsin.serve")


@contextlib.contextmanager
def reload_on_hangup(daemon: Daemon) -> Iterator[None]:
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
        changed, outcome = [], "failed"
        try:
            changed, outcome = await daemon.change(daemon.read()), "done"
            daemon.trouble = ""
        except Unusable as error:
            log.error("the settings stay as they were: %s", error)
            daemon.trouble = "the settings could not be read again and stay as they were"
        except Exception:
            log.exception("the settings could not be put in force")
            daemon.trouble = "the settings could not be put in force"
        daemon.notifier.ready(daemon.status())
        await _record(daemon, changed, outcome)


async def _record(daemon: Daemon, changed: list[str], outcome: str) -> None:
    entry = AuditEntry(actor("daemon"), "settings reload", "SIGHUP", outcome, fields=tuple(changed))
    try:
        await daemon.store.write(audit_log.add, entry)
    except StoreError as error:
        log.error("the audit log was not told of it: %s", error)
