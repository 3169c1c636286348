"""The running daemon and its settings."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hub.admin.observability import Observability
from hub.cli.service import logs
from hub.cli.service.admin_listener import AdminListener
from hub.cli.service.configuration import Settings
from hub.cli.service.daemon_record import DaemonRecord
from hub.cli.service.hub_callbacks import HubCallbacks
from hub.cli.service.notify import Notifier
from hub.cli.service.start_errors import start_errors
from store import Store
from worker.delivery.watchdog import Watchdog

if TYPE_CHECKING:
    # A daemon imports only the parts that it runs.
    from hub.cli.service.hub_runner import RunningHub
    from worker.service import Worker

log = logging.getLogger("tocsin.serve")

# Settings that a reload does not change, because their files and sockets are open already.
AT_START = ("data_dir", "store", "key_file", "host", "port", "admin_bind", "senders")
TLS = ("tls_certificate", "tls_key", "tls_key_password")


@dataclass
class Daemon:
    """The hub, the worker or both in this process. `read` reads the settings again."""

    store: Store
    settings: Settings
    read: Callable[[], Settings]
    notifier: Notifier
    worker: "Worker | None" = None
    hub: "RunningHub | None" = None
    admin: AdminListener | None = None
    record: DaemonRecord | None = None
    """The record of the settings in effect, for commands."""
    trouble: str = ""
    """The error of the last reload, or ""."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    observability: Observability = field(init=False)
    _watchdog: Watchdog = field(default_factory=Watchdog)

    def __post_init__(self) -> None:
        self.observability = Observability(
            self.store, stuck=lambda limit: self.watchdog.stalled(limit), phase="starting"
        )

    @property
    def said(self) -> str:
        """Return the hub's URL, or "worker" if there is no hub."""
        return self.hub.url if self.hub is not None else "worker"

    @property
    def watchdog(self) -> Watchdog:
        """Return the worker's watchdog, or one of its own if there is no worker."""
        return self._watchdog if self.worker is None else self.worker.dispatcher.watchdog

    def status(self) -> str:
        """Return the daemon's status in one line."""
        parts = [said for said in (self.trouble, self.store.condition.damage) if said]
        if self.hub is not None:
            parts.append(f"listening on {self.hub.url}")
        if self.worker is not None:
            dispatcher = self.worker.dispatcher
            parts.append(f"{dispatcher.in_flight} in flight, {dispatcher.queued} queued")
        return "; ".join(parts)

    def follow_damage(self) -> None:
        """Write the damage that transactions have met, or will meet, into the record."""
        loop, condition = asyncio.get_running_loop(), self.store.condition

        def record_soon() -> None:
            # A thread that reads may meet it, also after the loop has ended.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._record_damage)

        condition.on_damage = record_soon
        if condition.damage:
            self._record_damage()

    def _record_damage(self) -> None:
        if self.record is not None:
            self.record.damage = self.store.condition.damage
            self.record.keep(self.settings)

    async def change(self, wanted: Settings) -> list[str]:
        """Apply these settings, as far as they can change at runtime.

        Return the names of changed settings. Raises Unusable, and changes nothing, if they are
        wrong.
        """
        old = self.settings
        fixed = _fixed(wanted, old)
        settings = wanted.model_copy(update={name: getattr(old, name) for name in fixed})
        if self.worker is not None:
            # The hub must not change if the worker cannot.
            self.worker.check(settings)
        if self.hub is not None:
            await self.hub.change(settings)
        if self.admin is not None:
            await self.admin.change(settings)
        if self.worker is not None:
            calls = HubCallbacks(settings)
            self.worker.change(settings, calls.emit, calls.publish, calls.compose)
        self.settings = settings
        if self.record is not None:
            self.record.keep(settings)
        logs.set_up(settings.log_level, settings.log_format)
        later = [name for name in fixed if getattr(wanted, name) != getattr(old, name)]
        if later:
            log.warning("in force only after a restart: %s", ", ".join(later))
            for error in start_errors(wanted):
                log.warning("a restart would fail: %s", error)
        changed = _changed(old, settings)
        log.info("settings read again; changed: %s", ", ".join(changed) or "none")
        return changed


def _fixed(wanted: Settings, old: Settings) -> tuple[str, ...]:
    """Return the names of the settings that a reload does not change.

    A reload can replace the certificate, but it cannot turn TLS on or off.
    """
    began, ended = wanted.tls_certificate is None, old.tls_certificate is None
    return AT_START if began == ended else (*AT_START, *TLS)


def _changed(old: Settings, new: Settings) -> list[str]:
    return [name for name in Settings.model_fields if getattr(old, name) != getattr(new, name)]
