"""A trial with hub and worker in one process: events go into the store, and are delivered."""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hub.cli.install.serve import wait_until_settled
from store import Store, open_store
from store.database import uuid7
from store.delivery import events
from store.delivery.incoming import IncomingEvent
from tests.benchmarks.harness import apart, world
from tests.benchmarks.harness.payload import SIZE, payload
from worker.service import Worker
from worker.settings import WorkerSettings

SENDERS = 32


def rate(**given: Any) -> float:
    """Run `deliver` in its own process. Return its deliveries a second."""
    return float(apart.call(deliver, **given)["rate"])


async def deliver(
    port: int,
    many: int,
    subscribers: int,
    url: str = "sqlite",
    key_file: str | None = None,
    counting: bool = False,
    tls: bool = False,
    filtering: bool = False,
    look: str | None = None,
    options: dict[str, Any] | None = None,
    keys: int = 0,
    apart_from: int = 0,
) -> dict[str, Any]:
    """Accept `many` events as the hub does while the worker delivers and records them.

    Return `rate`, deliveries a second, `cpu`, microseconds of this process a delivery, and
    `statements` a delivery, which is 0 unless `counting`. `look` names a function as
    module:function, whose result for the store is `found`. The hooks have `options`. The member
    `key` of the events has one of `keys` values. If `apart_from`, one event in so many has the key
    world.FAILING, and only the others count.
    """
    with TemporaryDirectory(prefix="tocsin-bench-") as directory:
        key = None if key_file is None else Path(key_file)
        store = open_store(url, data_dir=Path(directory), key_file=key)
        try:
            made = store.write_sync(
                world.make,
                subscribers=subscribers,
                port=port,
                tls=tls,
                filtering=filtering,
                options=options,
            )
            bodies = _bodies(many + world.WARMING, keys, apart_from)
            ran = await _delivered(store, made["repo_id"], bodies, many, subscribers, counting)
            return ran if look is None else {**ran, "found": store.read_sync(apart.named(look))}
        finally:
            await store.close()


def _bodies(many: int, keys: int, apart_from: int) -> list[bytes]:
    bodies = [payload(SIZE, seed) for seed in range(many)]
    if keys:
        bodies = [_keyed(body, b"%d" % (number % keys)) for number, body in enumerate(bodies)]
    if apart_from:
        for number in range(0, many - world.WARMING, apart_from):
            bodies[number] = _keyed(payload(SIZE, number), b'"%b"' % world.FAILING.encode())
    return bodies


async def _delivered(
    store: Store,
    repo_id: int,
    bodies: Sequence[bytes],
    many: int,
    subscribers: int,
    counting: bool,
) -> dict[str, Any]:
    worker = Worker(store, WorkerSettings(allow_networks=["127.0.0.0/8"]))
    await worker.start()
    wait_until_settled()
    try:
        await pass_through(store, repo_id, bodies[many:])
        counted = _counted() if counting else [0]
        started, cpu = time.perf_counter(), time.process_time()
        await pass_through(store, repo_id, bodies[:many])
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    finally:
        await worker.stop()
    arriving = sum(not is_failing(body) for body in bodies)
    world.check(store, arriving * subscribers)
    total = (arriving - world.WARMING) * subscribers
    return {
        "rate": total / seconds,
        "cpu": cpu * 1e6 / total,
        "statements": counted[0] / total,
    }


def _keyed(body: bytes, key: bytes) -> bytes:
    return b'{"key":%b,' % key + body[1:]


def is_failing(body: bytes) -> bool:
    """Return whether the event has the failing key, so that it does not count."""
    return body.startswith(b'{"key":"%b"' % world.FAILING.encode())


async def pass_through(store: Store, repo_id: int, bodies: Sequence[bytes]) -> None:
    """Accept the events, and wait until all of them are delivered."""
    left = iter(bodies)

    async def send() -> None:
        for body in left:
            arrival = IncomingEvent(repo_id, uuid7.new(), repo_id, "push", body)
            await store.batch(events.accept, arrival, weight=len(body))

    await asyncio.gather(*(send() for _ in range(SENDERS)))
    while await store.read(world.unfinished):  # noqa: ASYNC110 - the store gives no signal
        await asyncio.sleep(world.LOOK_EVERY)


def _counted() -> list[int]:
    """Count the calls to PostgreSQL from now on. The first item of the list is their number."""
    import psycopg

    counted = [0]
    for name in ("execute", "executemany", "copy"):
        setattr(psycopg.Cursor, name, _counting(getattr(psycopg.Cursor, name), counted))
    return counted


def _counting(method: Callable[..., Any], counted: list[int]) -> Callable[..., Any]:
    def call(*args: Any, **given: Any) -> Any:
        counted[0] += 1
        return method(*args, **given)

    return call
