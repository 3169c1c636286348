"""Searches for a rare text in attempts, with the text index and without, and the index's cost."""

import asyncio
import random
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import orjson
from attempt_rows import Text, add_attempts

from store import Connection, Store, open_store
from store.accounts import accounts
from store.delivery import attempt_text
from store.delivery.attempt_filter import AttemptFilter
from store.hooks import hooks
from store.repositories import repositories
from tests.benchmarks.harness.figure import Bench, Row
from worker.jobs.index_texts import index_texts

EVENTS, FANOUT, COMMITS = 30_000, 4, 12
MANY = EVENTS * FANOUT
PART = 1_000
RARE = "a bell that rings once"
WANTED = 0.1
ENDLESS = 2**62


def measure(bench: Bench) -> Iterator[Row]:
    """Milliseconds of a search through all attempts, and the index's time and bytes for each."""
    stores = {}
    for name in ("with", "without"):
        bench.said(f"texts: {MANY:,} attempts {name} an index")
        stores[name] = open_store("sqlite", data_dir=bench.directory / name)
        _fill(stores[name])
    before = _size(bench.directory / "with")
    loop = asyncio.new_event_loop()
    worked, waited = _index(loop, stores["with"])
    size = _size(bench.directory / "with") - before
    turns = bench.turns(
        "texts",
        ours=partial(_search, stores["with"]),
        reference=partial(_search, stores["without"]),
    )
    name = f"a rare text in {MANY:,} attempts: with an index, of the same without"
    yield turns.row(name, "ms", WANTED, more=False)
    yield Row("index of texts: processor time for an attempt", "ms", worked / MANY * 1000)
    yield Row(f"index of texts: the first {MANY:,} attempts", "s", waited)
    yield Row("index of texts: disk for an attempt", "bytes", size / MANY)
    name = f"index of texts: payload of an event, which has {FANOUT} attempts, on average"
    yield Row(name, "bytes", _mean_payload())
    for store in stores.values():
        loop.run_until_complete(store.close())
    loop.close()


def _fill(store: Store) -> None:
    hook_id = store.write_sync(_hook)
    some = random.Random(1)
    for part in range(EVENTS // PART):
        texts = [_text(some, rare=not part and not at) for at in range(PART)]
        store.write_sync(add_attempts, hook_id, texts, fanout=FANOUT)


def _hook(db: Connection) -> int:
    repo = repositories.create(db, accounts.create(db, "ada")["id"], "engine")
    found = hooks.create(db, repo["id"], url="https://receiver.example/", events=["push"])
    return int(found["id"])


def _text(some: random.Random, *, rare: bool) -> Text:
    """Return the body of a push as a code host sends it, and a response body."""
    commits = [_commit(some) for _ in range(some.randrange(1, COMMITS))]
    body = {
        "ref": f"refs/heads/{_words(some, 1)}",
        "before": f"{some.getrandbits(160):040x}",
        "after": f"{some.getrandbits(160):040x}",
        "repository": {"id": some.randrange(10**8), "name": "engine", "private": False},
        "note": RARE if rare else "",
        "commits": commits,
    }
    return orjson.dumps(body), "accepted"


def _commit(some: random.Random) -> dict[str, object]:
    number = f"{some.getrandbits(160):040x}"
    return {
        "id": number,
        "url": f"https://forge.example/ada/engine/commit/{number}",
        "message": _words(some, 12),
        "timestamp": f"2026-11-21T07:{some.randrange(60):02}:00Z",
        "author": {"name": _words(some, 2), "email": f"{_words(some, 1)}@people.example"},
        "added": [f"src/{_words(some, 1)}/{_words(some, 1)}.py" for _ in range(3)],
    }


def _words(some: random.Random, many: int) -> str:
    """Return `many` made-up words."""
    parts = ("an", "ber", "cor", "del", "em", "fra", "gil", "hor", "in", "jo", "ka", "lum", "mar")
    return " ".join("".join(some.choices(parts, k=some.randrange(2, 5))) for _ in range(many))


def _mean_payload() -> float:
    some = random.Random(1)
    return sum(len(_text(some, rare=False)[0]) for _ in range(PART)) / PART


def _index(loop: asyncio.AbstractEventLoop, store: Store) -> tuple[float, float]:
    """Index everything. Return the seconds of processor time, and how long it took."""
    processor, started = time.process_time(), time.perf_counter()
    loop.run_until_complete(index_texts(store))
    return time.process_time() - processor, time.perf_counter() - started


def _search(store: Store) -> float:
    started = time.perf_counter()
    found = store.read_sync(
        attempt_text.page,
        AttemptFilter(),
        RARE,
        limit=50,
        most_bytes=ENDLESS,
        clock=lambda: 0.0,
    )
    if len(found.rows) != FANOUT:
        raise RuntimeError(f"{len(found.rows)} attempts were found, and not {FANOUT}")
    return (time.perf_counter() - started) * 1000


def _size(directory: Path) -> int:
    """Return the bytes of a store's files."""
    return sum(path.stat().st_size for path in directory.iterdir() if path.is_file())
