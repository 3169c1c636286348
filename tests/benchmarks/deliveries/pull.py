"""Deliveries that receivers fetch, against the same deliveries pushed."""

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from hub.app import create_app
from hub.cli.http_server.server import bind, port_of, serving
from hub.cli.install.serve import wait_until_settled
from hub.settings import HubSettings
from store import Store, open_store
from tests.benchmarks.deliveries import pull_client
from tests.benchmarks.harness import apart, pipeline, world
from tests.benchmarks.harness.figure import Bench, Row
from tests.benchmarks.harness.payload import SIZE, payload
from tests.benchmarks.harness.receiver import receiving
from worker.http.callback_guard import CallbackGuard
from worker.pull.fetch_queue import FetchQueue
from worker.service import Worker
from worker.settings import WorkerSettings

MANY, SUBSCRIBERS = 1000, 10
WANTED = 0.7


def measure(bench: Bench) -> Iterator[Row]:
    """Deliveries a second."""
    with receiving(bench) as port:
        given = {"many": MANY, "subscribers": SUBSCRIBERS}
        turns = bench.turns(
            "pull",
            ours=partial(rate, **given),
            reference=partial(pipeline.rate, port=port, **given),
        )
        name = f"delivery, {MANY:,} x {SUBSCRIBERS}: fetched by the receivers, of the same pushed"
        yield turns.row(name, "/s", WANTED)


def rate(**given: int) -> float:
    """Run `deliver` in its own process. Return its deliveries a second."""
    return float(apart.call(deliver, **given))


async def deliver(many: int, subscribers: int) -> float:
    """Accept `many` events as the hub does, while receivers in another process fetch and
    acknowledge them over HTTP. Return the deliveries a second.
    """
    with TemporaryDirectory(prefix="tocsin-bench-") as directory:
        store = open_store("sqlite", data_dir=Path(directory))
        try:
            made = store.write_sync(world.make_pull_hooks, subscribers)
            return await _delivered(store, made, many, subscribers)
        finally:
            await store.close()


async def _delivered(store: Store, made: dict[str, object], many: int, subscribers: int) -> float:
    settings = WorkerSettings()
    worker = Worker(store, settings)
    app = create_app(
        store,
        HubSettings(rate_limiting=False),
        CallbackGuard(worker.guard),
        pull_queue=FetchQueue(settings),
    )
    bound = bind("127.0.0.1", 0)
    await worker.start()
    bodies = [payload(SIZE, seed) for seed in range(many + world.WARMING)]
    repo_id = made["repo_id"]
    assert isinstance(repo_id, int)
    try:
        async with serving(app, bound, last_call=0):
            with _consuming(port_of(bound), made):
                wait_until_settled()
                await pipeline.pass_through(store, repo_id, bodies[many:])
                started = time.perf_counter()
                await pipeline.pass_through(store, repo_id, bodies[:many])
                seconds = time.perf_counter() - started
    finally:
        await worker.stop()
    world.check(store, (many + world.WARMING) * subscribers)
    return many * subscribers / seconds


@contextlib.contextmanager
def _consuming(port: int, made: dict[str, object]) -> Iterator[None]:
    """Run receivers of these hooks in their own process."""
    hook_ids = made["hook_ids"]
    assert isinstance(hook_ids, list)
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            pull_client.__name__,
            str(port),
            str(made["token"]),
            *map(str, hook_ids),
        ]
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(apart.PATIENCE)


if __name__ == "__main__":
    print(asyncio.run(deliver(MANY, SUBSCRIBERS)))
