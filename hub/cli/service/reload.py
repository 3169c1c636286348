"""The reload of the settings on SIGHUP. If the new settings are wrong, the old ones stay."""

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
    """Reload the settings on every SIGHUP during the block."""
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGHUP, asked.set)
    task = loop.create_task(_reload(daemon, asked))
    try:
        yield
    finally:
        task.cancel()
        loop.remove_signal_handler(signal.SIGHUP)
        # Without a handler, SIGHUP would end the process while it shuts down.
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
            log.exception("the settings could not be applied")
            daemon.trouble = "the settings could not be applied"
        daemon.notifier.ready(daemon.status())
        await _record(daemon, changed, outcome)


async def _record(daemon: Daemon, changed: list[str], outcome: str) -> None:
    entry = AuditEntry(actor("daemon"), "settings reload", "SIGHUP", outcome, fields=tuple(changed))
    try:
        await daemon.store.write(audit_log.add, entry)
    except StoreError as error:
        log.error("the reload could not be written to the audit log: %s", error)
