"""`tocsin demo`: the whole path on this machine, from a subscription to verified deliveries."""

import asyncio
import contextlib
import secrets
import shlex
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import httpx
import uvloop
from rich.console import Console
from rich.text import Text

from hub.cli.console import options, output
from hub.cli.console.grammar import command
from hub.cli.http_server.server import bind, serving, signals, url_of
from hub.cli.playground.demo_events import EVENTS, NAME, OWNER
from hub.cli.playground.listen_output import verdict
from hub.cli.playground.received_request import ReceivedRequest
from hub.cli.playground.receiver import ReceivedDelivery, Receiver, fixed
from hub.cli.service import logs
from hub.cli.service.composition import running_guard, running_hub, running_worker
from hub.cli.service.configuration import Settings
from store import Connection, Row, Store
from store.accounts import accounts, tokens
from store.delivery import deliveries
from store.errors import Unusable
from store.repositories import repositories

# Seconds for a response, and for all deliveries.
PATIENCE = 30
# A new subscription gets a ping before the events.
EXPECTED = {"ping", *EVENTS}


@command(examples=["tocsin demo", "tocsin demo --once"])
@click.option(
    "--once", is_flag=True, help="End when all is delivered, with exit code 0 if all is verified."
)
def demo(once: bool) -> None:
    """Run a demonstration: a subscription, events, signed deliveries. It leaves nothing behind."""
    logs.set_up("warning", "human")
    with (
        TemporaryDirectory(prefix="tocsin-demo-") as directory,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        verified = runner.run(_demo(Path(directory), once=once))
    if not verified:
        raise click.ClickException("not every delivery arrived with valid signatures")


@dataclass
class DemoScene:
    """The state of the demonstration. It prints a row for each delivery that arrives."""

    store: Store
    console: Console
    secret: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    verified: dict[str, bool] = field(default_factory=dict)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    complete: asyncio.Event = field(default_factory=asyncio.Event)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def take(self, delivery: ReceivedDelivery) -> None:
        """Print a delivery that arrived, once its attempt is recorded."""
        task = asyncio.get_running_loop().create_task(self._show(delivery.request))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _show(self, received: ReceivedRequest) -> None:
        row = await self._recorded(received.guid)
        await self.started.wait()
        line = Text(f"{received.event:<12}{received.guid:<38}", no_wrap=True)
        line.append(f"{row['status_code']:>6}{row['duration'] / 1000:>9.1f}  ")
        line.append_text(verdict(received))
        self.console.print(line, soft_wrap=True)
        self.verified[received.event] = received.verified and row["state"] == "delivered"
        if self.verified.keys() >= EXPECTED:
            self.complete.set()

    async def _recorded(self, guid: str) -> Row:
        """Return the delivery with this guid, once its attempt is recorded."""
        while True:
            for row in await self.store.read(deliveries.page, limit=100):
                if row["guid"] == guid and row["status_code"] is not None:
                    return row
            await asyncio.sleep(0.01)


async def _demo(directory: Path, *, once: bool) -> bool:
    settings = Settings(data_dir=directory, port=0, allow_networks=["127.0.0.0/8"])
    store = options.opened(settings, create=True)
    scene, ended = DemoScene(store, output.console()), asyncio.Event()
    with signals(ended.set):
        async with _running(scene, settings) as (hub, receiver):
            token = store.do(_prepare)
            await _play(scene, hub, receiver, token)
            arrived = await _either(scene.complete, ended)
            if arrived and all(scene.verified.values()):
                click.echo(f"\n{len(scene.verified)} deliveries, all verified by the receiver")
            if not once and arrived:
                _suggest(hub, token, directory)
                await ended.wait()
    return all(scene.verified.values()) and (arrived or ended.is_set())


@contextlib.asynccontextmanager
async def _running(scene: DemoScene, settings: Settings) -> AsyncIterator[tuple[str, str]]:
    """Run the hub, the worker and the receiver during the block. Yields the URLs of hub and
    receiver.
    """
    try:
        async with contextlib.AsyncExitStack() as stack:
            bound = stack.enter_context(bind("127.0.0.1", 0))
            receiver = Receiver(scene.take, answer=fixed(200, 0), secret=scene.secret)
            await stack.enter_async_context(serving(receiver, bound))
            guard = stack.enter_context(running_guard(settings))
            await stack.enter_async_context(running_worker(scene.store, settings, guard))
            hub = await stack.enter_async_context(running_hub(scene.store, settings, guard))
            yield hub.url, url_of(bound)
    finally:
        for task in scene.tasks:
            task.cancel()
        await scene.store.close()


def _prepare(db: Connection) -> str:
    user = accounts.create(db, OWNER, name="Ada")
    repositories.create(db, user["id"], NAME)
    value, _ = tokens.create(db, user["id"], scopes=["repo", "admin:repo_hook"], note="demo")
    return value


async def _play(scene: DemoScene, hub: str, receiver: str, token: str) -> None:
    """Subscribe and post the events over HTTP, as any client would."""
    headers = {"Authorization": f"Bearer {token}"}
    click.echo(f"hub at {hub}, receiver at {receiver}\n")
    async with httpx.AsyncClient(
        base_url=hub, headers=headers, trust_env=False, timeout=PATIENCE
    ) as client:
        for event in EVENTS:
            topic = f"{hub}/{OWNER}/{NAME}/events/{event}.json"
            form = {
                "hub.mode": "subscribe",
                "hub.topic": topic,
                "hub.callback": f"{receiver}/hook",
                "hub.secret": scene.secret,
            }
            _expect(await client.post("/hub", data=form), f"POST /hub  {topic}")
        click.echo(f"\n{'event':<12}{'guid':<38}{'status':>6}{'ms':>9}  signatures")
        scene.started.set()
        for event, payload in EVENTS.items():
            answer = await client.post(f"/{OWNER}/{NAME}/events/{event}", json=payload)
            _expect(answer)


def _expect(answer: httpx.Response, said: str | None = None) -> None:
    if not answer.is_success:
        raise Unusable(f"{answer.request.url} answered {answer.status_code}: {answer.text}")
    if said is not None:
        click.echo(f"{answer.status_code}  {said}")


async def _either(complete: asyncio.Event, ended: asyncio.Event) -> bool:
    """Wait for `complete`, `ended` or the end of PATIENCE. Return whether `complete` is set."""
    waiting = [asyncio.create_task(event.wait()) for event in (complete, ended)]
    await asyncio.wait(waiting, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    return complete.is_set()


def _suggest(hub: str, token: str, directory: Path) -> None:
    program = shlex.quote(sys.argv[0])
    click.echo(f"""
To go on, from another terminal:

  export TOKEN={token}
  curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{{"ref": "refs/heads/main", "commits": []}}' {hub}/{OWNER}/{NAME}/events/push
  curl -H "Authorization: Bearer $TOKEN" {hub}/repos/{OWNER}/{NAME}/hooks/1/deliveries
  {program} delivery list --data-dir {directory}

Deliveries appear here as they arrive. Ctrl-C ends it and removes {directory}.
""")
