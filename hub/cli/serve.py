"""`tocsin serve`: the daemon, hub and worker in one process or each in its own."""

import asyncio
import contextlib
import logging
from pathlib import Path
from typing import Any

import click
import uvloop

from hub.cli import logs, options
from hub.cli.composition import running_hub, running_worker
from hub.cli.configuration import Settings, configure
from hub.cli.server import signals, url_of
from store import Store

log = logging.getLogger("tocsin.serve")


@click.command()
@click.option("--only", type=click.Choice(["hub", "worker"]), help="One part; start both then.")
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=int, help="Port to listen on; 0 is any free one.")
@options.CONFIG
@options.DATA_DIR
@options.STORE
def serve(only: str | None, config: Path | None, store_url: str | None, **given: Any) -> None:
    """Take in events and deliver them, until SIGTERM or Ctrl-C; a second one ends at once."""
    settings = configure({**given, "store": store_url}, config).settings
    logs.set_up(settings.log_level)
    store = options.opened(settings, create=True)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(store, settings, only))


async def _serve(store: Store, settings: Settings, only: str | None) -> None:
    ended = asyncio.Event()
    try:
        async with contextlib.AsyncExitStack() as stack:
            stack.enter_context(signals(ended.set))
            worker = None
            if only != "hub":
                worker = await stack.enter_async_context(running_worker(store, settings))
            said = "worker"
            if only != "worker":
                said = url_of(await stack.enter_async_context(running_hub(store, settings, worker)))
            click.echo(f"tocsin is at work: {said}")
            await ended.wait()
            log.info("ending; a second signal ends at once")
    finally:
        await store.close()
