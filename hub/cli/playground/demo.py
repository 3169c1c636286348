"""`tocsin demo`: the whole path on this machine, from a subscription to verified deliveries.

In a terminal it stays open as a playground.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from hub.cli.console import options, output
from hub.cli.console.grammar import command
from hub.cli.http_server.event_loop import new_event_loop
from hub.cli.http_server.server import bind, serving, signals, url_of
from hub.cli.playground.demo_client import PATIENCE, DemoClient, demo_client
from hub.cli.playground.demo_dashboard import DemoDashboard
from hub.cli.playground.demo_events import EVENTS, NAME, OWNER
from hub.cli.playground.demo_keys import DemoKeys
from hub.cli.playground.demo_scene import HEAD, DemoScene
from hub.cli.playground.receiver import Receiver
from hub.cli.service import logs
from hub.cli.service.configuration import Settings
from hub.cli.service.hub_runner import running_hub
from hub.cli.service.worker_runner import running_worker
from store import Connection
from store.accounts import accounts, tokens
from store.repositories import repositories
from worker.http.callback_guard import running_guard

# Seconds before each attempt. They are short, so that a receiver that works again gets its
# deliveries while the user watches.
RETRIES = [0, 2, 4, 8, 16, 32, 60, 60, 60, 60]


@command(examples=["tocsin demo", "tocsin demo --once"])
@click.option(
    "--once", is_flag=True, help="End after the deliveries. Without a terminal it always does."
)
def demo(once: bool) -> None:
    """Run a demonstration: a subscription, events, signed deliveries. It leaves nothing behind.

    In a terminal it stays open: press keys to send events, and to break and repair the receiver.
    The exit code is 0 if each of the first deliveries arrived with valid signatures.
    """
    logs.set_up("warning", "human")
    stays = not once and sys.stdin.isatty() and sys.stdout.isatty()
    with (
        TemporaryDirectory(prefix="tocsin-demo-") as directory,
        asyncio.Runner(loop_factory=new_event_loop) as runner,
    ):
        verified = runner.run(_demo(Path(directory), stays=stays))
    if not verified:
        raise click.ClickException("not every delivery arrived with valid signatures")


async def _demo(directory: Path, *, stays: bool) -> bool:
    settings = Settings(
        data_dir=directory, port=0, allow_networks=["127.0.0.0/8"], retries=RETRIES, jitter=0
    )
    store = options.opened(settings, create=True)
    scene, ended = DemoScene(store, output.console()), asyncio.Event()
    with signals(ended.set):
        token, token_id = store.write_sync(_prepare)
        dashboard = DemoDashboard(store, token_id)
        async with (
            _running(scene, settings, dashboard) as (hub, receiver),
            demo_client(hub, token) as client,
        ):
            click.echo(f"hub at {hub}, receiver at {receiver}\n")
            arrived = await _play(scene, client, receiver, ended)
            verified = all(scene.verified.values())
            if arrived and verified:
                click.echo(f"\n{len(scene.verified)} deliveries, all verified by the receiver")
            if arrived and stays:
                address = f"{hub}{dashboard.path}"
                await DemoKeys(scene, client, hub, address, token, directory, ended).run()
    return verified and (arrived or ended.is_set())


@contextlib.asynccontextmanager
async def _running(
    scene: DemoScene, settings: Settings, dashboard: DemoDashboard
) -> AsyncIterator[tuple[str, str]]:
    """Run the hub, the worker and the receiver during the block.

    Yields the URLs of hub and receiver.
    """
    try:
        async with contextlib.AsyncExitStack() as stack:
            bound = stack.enter_context(bind("127.0.0.1", 0))
            receiver = Receiver(scene.take, answer=scene.answer, secret=scene.secret)
            await stack.enter_async_context(serving(receiver, bound))
            guard = stack.enter_context(running_guard(settings))
            await stack.enter_async_context(running_worker(scene.store, settings, guard))
            running = running_hub(scene.store, settings, guard, around=dashboard.before)
            hub = await stack.enter_async_context(running)
            yield hub.url, url_of(bound)
    finally:
        await scene.close()


def _prepare(db: Connection) -> tuple[str, int]:
    # A site administrator, whose token opens every page of the dashboard.
    user = accounts.create(db, OWNER, name="Ada", site_admin=True)
    repositories.create(db, user["id"], NAME)
    scopes = ["repo", "admin:repo_hook", "read:enterprise"]
    value, row = tokens.create(db, user["id"], scopes=scopes, note="demo")
    return value, row["id"]


async def _play(scene: DemoScene, client: DemoClient, receiver: str, ended: asyncio.Event) -> bool:
    """Subscribe, post the events, and wait for the deliveries. Return whether all arrived."""
    await client.subscribe(f"{receiver}/hook", scene.secret)
    click.echo(f"\n{HEAD}")
    scene.started.set()
    for event in EVENTS:
        await client.post(event)
    return await _either(scene.complete, ended)


async def _either(complete: asyncio.Event, ended: asyncio.Event) -> bool:
    """Wait for `complete`, `ended` or the end of PATIENCE. Return whether `complete` is set."""
    waiting = [asyncio.create_task(event.wait()) for event in (complete, ended)]
    await asyncio.wait(waiting, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    return complete.is_set()
