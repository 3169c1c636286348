"""The running daemon, as the parts that look after it see it."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from hub.admin.observability import Observability
from hub.cli.service import logs
from hub.cli.service.admin_listener import AdminListener
from hub.cli.service.composition import RunningHub
from hub.cli.service.configuration import Settings
from hub.cli.service.daemon_record import DaemonRecord
from hub.cli.service.notify import Notifier
from hub.worker_events import WorkerEvents
from store import Store
from worker.delivery.watchdog import Watchdog
from worker.service import Worker

log = logging.getLogger("tocsin.serve")

# What is open already: these settings are those of the start for as long as it runs.
AT_START = ("data_dir", "store", "key_file", "host", "port", "admin_bind")
TLS = ("tls_certificate", "tls_key", "tls_key_password")


@dataclass
class Daemon:
    """What runs in this process. `read` reads the settings anew; Unusable where they are wrong."""

    store: Store
    settings: Settings
    read: Callable[[], Settings]
    notifier: Notifier
    worker: Worker | None = None
    hub: RunningHub | None = None
    admin: AdminListener | None = None
    record: DaemonRecord | None = None
    """What commands judge by."""
    trouble: str = ""
    """What went wrong when settings were read again."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    seeing: Observability = field(init=False)
    _watchdog: Watchdog = field(default_factory=Watchdog)

    def __post_init__(self) -> None:
        self.seeing = Observability(
            self.store, stuck=lambda limit: self.watchdog.stalled(limit), phase="starting"
        )

    @property
    def said(self) -> str:
        """Where it is to be found, in a word."""
        return self.hub.url if self.hub is not None else "worker"

    @property
    def watchdog(self) -> Watchdog:
        """The watchdog of its delivery loop, if it has one."""
        return self._watchdog if self.worker is None else self.worker.dispatcher.watchdog

    def status(self) -> str:
        """How it is, in a line."""
        parts = [self.trouble] if self.trouble else []
        if self.hub is not None:
            parts.append(f"listening on {self.hub.url}")
        if self.worker is not None:
            dispatcher = self.worker.dispatcher
            parts.append(f"{dispatcher.in_flight} in flight, {dispatcher.queued} queued")
        return "; ".join(parts)

    async def change(self, wanted: Settings) -> list[str]:
        """Work by these settings as far as they can be changed now; returns the names of those
        that have changed. Unusable, with nothing changed, if they are.
        """
        old = self.settings
        fixed = _fixed(wanted, old)
        settings = wanted.model_copy(update={name: getattr(old, name) for name in fixed})
        if self.hub is not None:
            await self.hub.change(settings)
        if self.admin is not None:
            await self.admin.change(settings)
        if self.worker is not None:
            telling = WorkerEvents(settings)
            self.worker.change(settings, telling, telling.again)
        self.settings = settings
        if self.record is not None:
            self.record.write(settings)
        logs.set_up(settings.log_level, settings.log_format)
        later = [name for name in fixed if getattr(wanted, name) != getattr(old, name)]
        if later:
            log.warning("in force only after a restart: %s", ", ".join(later))
        changed = _changed(old, settings)
        log.info("settings read again; changed: %s", ", ".join(changed) or "none")
        return changed


def _fixed(wanted: Settings, old: Settings) -> tuple[str, ...]:
    """The names of the settings that stay: one certificate follows another, but whether there is
    one is decided at the start.
    """
    began, ended = wanted.tls_certificate is None, old.tls_certificate is None
    return AT_START if began == ended else (*AT_START, *TLS)


def _changed(old: Settings, new: Settings) -> list[str]:
    return [name for name in Settings.model_fields if getattr(old, name) != getattr(new, name)]
