"""`tocsin serve`: the daemon, with hub and worker in one process or in separate ones."""

import asyncio
import contextlib
import faulthandler
import gc
import importlib
import logging
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from hub.cli.console import options, output, streams
from hub.cli.console.grammar import command
from hub.cli.console.late_imports import collector_off
from hub.cli.http_server.event_loop import new_event_loop
from hub.cli.http_server.server import BACKLOG, bind, signals
from hub.cli.service import logs
from hub.cli.service.admin_listener import running_admin
from hub.cli.service.configuration import (
    Settings,
    configure,
    settings_file,
    unknown_variables,
)
from hub.cli.service.daemon import Daemon
from hub.cli.service.daemon_record import recorded
from hub.cli.service.exit_timer import database_timer, exit_soon
from hub.cli.service.notify import Notifier, inherited_sockets
from hub.cli.service.reload import reload_on_hangup
from hub.cli.service.watchdog_ping import ping_watchdog
from hub.cli.telemetry.running import running_telemetry
from worker.http.callback_guard import CallbackGuard, running_guard

log = logging.getLogger("tocsin.serve")

# Seconds after which a thread that waits for the interpreter's lock gets it.
TURN = 0.0001


@command(examples=["tocsin serve", "tocsin serve --port 9000 --data-dir /var/lib/tocsin"])
@click.option(
    "--only",
    type=click.Choice(["hub", "worker"]),
    help="Run one part only; run the other one in another process.",
)
@click.option("--host", help="Address to listen on.  [default: the setting host]")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    help="Port to listen on; 0 is any free one.  [default: the setting port]",
)
@options.CONFIG
@options.DATA_DIR
@options.STORE
def serve(only: str | None, config: Path | None, store_url: str | None, **given: Any) -> None:
    """Accept events and deliver them, until SIGTERM or Ctrl-C. A second signal ends it at once.

    If there is no installation, it creates one. SIGHUP makes it read its settings again. If systemd
    passes it a socket, it listens on that, and not on --host and --port.
    """
    # If the watchdog ends the process, the log then shows where it was stuck.
    faulthandler.enable()
    # Until the settings are read and the handler is installed, SIGHUP would end the process.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    # A reload reads the same file. Without it, all settings would go back to their defaults.
    file = settings_file(config)

    def read() -> Settings:
        return configure({**given, "store": store_url}, file).settings

    settings = read()
    logs.set_up(settings.log_level, settings.log_format)
    for name in unknown_variables():
        log.warning("%s is no setting", name)
    notifier = Notifier()
    notifier.status("opening the database")
    # An old hub may still run beside a new worker.
    store = options.opened(settings, create=True, upgrade=only != "worker")
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_serve(Daemon(store, settings, read, notifier), only))
        exit_soon()


async def _serve(daemon: Daemon, only: str | None) -> None:
    with database_timer(daemon.store) as start_timer:
        await _serve_until(daemon, only, start_timer)


async def _serve_until(daemon: Daemon, only: str | None, start_timer: Callable[[], None]) -> None:
    def received() -> None:
        daemon.ended.set()
        # The database may stand still during the start too.
        start_timer()

    try:
        async with contextlib.AsyncExitStack() as stack:
            stack.enter_context(signals(received))
            with collector_off():
                await _start(daemon, only, stack)
                daemon.record = stack.enter_context(recorded(daemon.settings, only))
                daemon.follow_damage()
                stack.enter_context(reload_on_hangup(daemon))
                stack.enter_context(ping_watchdog(daemon))
                wait_until_settled()
            daemon.observability.phase = "serving"
            daemon.notifier.ready(daemon.status())
            _announce(daemon)
            await daemon.ended.wait()
            _end(daemon)
    finally:
        await daemon.observability.close()
        await daemon.store.close()


def _announce(daemon: Daemon) -> None:
    try:
        click.echo(f"tocsin is at work: {daemon.said}")
        if daemon.hub is not None and daemon.settings.ui and output.is_terminal():
            click.echo(f"dashboard: {daemon.said}/ui")
    except OSError as error:
        # A full disk of logs must not keep the daemon from its work.
        streams.discard_output()
        log.warning("standard output cannot be written: %s", error)


def wait_until_settled() -> None:
    """Tune the garbage collector for a daemon whose start is complete, and let threads switch soon.

    The objects that exist now stay, so the collector ignores them and runs less often. Its passes
    over them took a tenth of the delivery path's time.
    """
    switch_soon()
    # No collection before the freeze: a start leaves a few hundred kB of garbage, and a collection
    # takes as long as the import of a part of the daemon.
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def switch_soon() -> None:
    """Let a thread that waits for the interpreter's lock have it after TURN seconds.

    The writer needs the lock a dozen times for a group of writes. By default it would wait 5 ms
    each time while another thread is busy.
    """
    sys.setswitchinterval(TURN)


async def _start(daemon: Daemon, only: str | None, stack: contextlib.AsyncExitStack) -> None:
    store, settings, observability = daemon.store, daemon.settings, daemon.observability
    switch_soon()
    guard = stack.enter_context(running_guard(settings))
    # Telemetry begins first, and exports until all other parts have ended.
    observability.tracer = await stack.enter_async_context(running_telemetry(observability))
    # The administrators' listener begins before the other parts and ends after them, because it
    # reports how they begin and end.
    watching = running_admin(
        store, settings, observability, CallbackGuard(guard), describes=only != "worker"
    )
    daemon.admin = await stack.enter_async_context(watching)
    # Each part imports what it runs with, so that the parts that do not run take no memory.
    if only != "hub":
        from hub.cli.service.worker_runner import running_worker

        running = running_worker(store, settings, guard, observability.tracer)
        daemon.worker = await stack.enter_async_context(running)
        observability.others = [daemon.worker.metrics]
    if only != "worker":
        sockets = inherited_sockets() or [stack.enter_context(bind(settings.host, settings.port))]
        for one in sockets:
            one.listen(BACKLOG)
        # During the import, deliveries go on, and connections wait to be accepted.
        await asyncio.to_thread(importlib.import_module, "hub.cli.service.hub_runner")
        from hub.cli.service.hub_runner import running_hub

        serving = running_hub(store, settings, guard, sockets, observability)
        daemon.hub = await stack.enter_async_context(serving)
    # A daemon that cannot write cannot serve, so it fails at its start.
    await store.write_relaxed(lambda db: None)


def _end(daemon: Daemon) -> None:
    log.info("ending; a second signal ends it at once")
    daemon.observability.phase = "ending"
    daemon.notifier.stopping("finishing what is under way")
    if daemon.worker is not None:
        # The worker begins to stop now, while the hub stops, so that both have the whole time.
        daemon.worker.start_stopping()
