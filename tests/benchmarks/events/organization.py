"""Ingest into repositories of one owner: one organization hook, against repository hooks."""

import asyncio
import itertools
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from store import Connection, open_store
from store.database import uuid7
from store.delivery import events
from store.delivery.incoming import IncomingEvent
from store.hook_state import hook_pauses
from store.hooks import hook_targets, hooks
from store.hooks.hook_targets import HookTarget
from tests.benchmarks.events.ingest import CONNECTIONS
from tests.benchmarks.harness import apart, world
from tests.benchmarks.harness.figure import Bench, Row
from tests.benchmarks.harness.load import load
from tests.benchmarks.harness.payload import payload
from tests.benchmarks.harness.processes import serving

REPOSITORIES = 10_000
SIZE, TOTAL = 2_000, 10_000
ARRIVALS, SENDERS = 10_000, 32
WANTED = 0.95
WANTED_COST = 1.2


def measure(bench: Bench) -> Iterator[Row]:
    """Events a second over HTTP, and microseconds an event directly into the store."""
    around = _prepared(bench.directory / "around", _around)
    single = _prepared(bench.directory / "single", _single)
    with serving(around["directory"]) as ours, serving(single["directory"]) as other:
        sides = {
            "ours": partial(_rate, ours.port, around["token"]),
            "reference": partial(_rate, other.port, single["token"]),
        }
        for rate in sides.values():
            rate(TOTAL // 10)
        turns = bench.turns(
            "organization", **{name: partial(one, TOTAL) for name, one in sides.items()}
        )
    name = (
        f"ingest, {REPOSITORIES:,} repositories under one organization hook: of one repository hook"
    )
    yield turns.row(name, "/s", WANTED)
    each = _prepared(bench.directory / "each", _each)
    turns = bench.turns(
        "organization, spread",
        ours=partial(_cost, around["directory"]),
        reference=partial(_cost, each["directory"]),
    )
    name = f"ingest into {REPOSITORIES:,} repositories under one hook: of a hook each"
    yield turns.row(name, "us", WANTED_COST, more=False)


def _prepared(directory: Path, subscribe: Any) -> dict[str, Any]:
    store = open_store("sqlite", data_dir=directory)
    made = store.write_sync(world.make)
    store.write_sync(subscribe, made["repo_id"])
    store.shut()
    return {"directory": directory, "token": made["token"]}


def _around(db: Connection, repo_id: int) -> None:
    _more(db)
    _hook(db, hook_targets.organization(_owner(db, repo_id)))


def _single(db: Connection, repo_id: int) -> None:
    _hook(db, hook_targets.repository(repo_id))


def _each(db: Connection, repo_id: int) -> None:
    _more(db)
    for (number,) in db.tuples("SELECT id FROM repository"):
        _hook(db, hook_targets.repository(number))


def _owner(db: Connection, repo_id: int) -> int:
    return int(db.value("SELECT owner_id FROM repository WHERE id = :id", id=repo_id))


def _more(db: Connection) -> None:
    """Create more repositories of the same owner."""
    rows = [(1, f"r{number}", f"r{number}", 1, 1) for number in range(1, REPOSITORIES)]
    db.insert_many("repository", "owner_id, name, name_key, created_at, updated_at", rows)


def _hook(db: Connection, target: HookTarget) -> None:
    """Create a paused hook, so that ingest alone is measured."""
    made = hooks.create(db, target, url="http://127.0.0.1:9/", events=["push"])
    hook_pauses.pause(db, made)


def _rate(port: int, token: str, total: int) -> float:
    given = {"path": world.TOPIC, "size": SIZE, "connections": CONNECTIONS}
    return float(apart.call(load, port=port, token=token, total=total, **given)["rate"])


def _cost(directory: Path) -> float:
    return float(apart.call(cost, directory=str(directory)))


async def cost(directory: str) -> float:
    """Return the microseconds an event, one repository after the other, without a worker."""
    store = open_store("sqlite", data_dir=Path(directory))
    body = payload(SIZE, 1)
    left = iter(range(ARRIVALS))
    repos = itertools.cycle(range(1, REPOSITORIES + 1))

    async def send() -> None:
        for _ in left:
            repo_id = next(repos)
            arrival = IncomingEvent(repo_id, uuid7.new(), repo_id, "push", body)
            await store.batch(events.accept, arrival, weight=len(body))

    started = time.perf_counter()
    await asyncio.gather(*(send() for _ in range(SENDERS)))
    seconds = time.perf_counter() - started
    await store.close()
    return seconds / ARRIVALS * 1_000_000
