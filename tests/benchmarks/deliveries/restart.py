"""A start with a million waiting deliveries: the time until the first is sent, the memory, and the
size of a delivery on disk.
"""

import time
from collections.abc import Iterator

from store import Connection, open_store
from tests.benchmarks.harness import world
from tests.benchmarks.harness.figure import Bench, Row
from tests.benchmarks.harness.payload import payload
from tests.benchmarks.harness.processes import serving
from tests.benchmarks.harness.receiver import receiving

EVENTS, SUBSCRIBERS = 10_000, 100
BODY = 2_000
WATCHED = 8.0
WANTED_S, WANTED_MB, WANTED_BYTES = 0.5, 200.0, 200.0


def measure(bench: Bench) -> Iterator[Row]:
    """One round is enough: the figures are far within their targets, or miss them."""
    bench.said("restart: a million waiting")
    with receiving(bench) as port:
        directory = bench.directory / "waiting"
        store = open_store("sqlite", data_dir=directory)
        repo_id = store.write_sync(world.make, subscribers=SUBSCRIBERS, port=port)["repo_id"]
        store.write_sync(world.fill, repo_id, EVENTS, payload(BODY, 1))
        size = store.write_sync(_size)
        store.write_sync(world.queue, repo_id)
        bytes_each = (store.write_sync(_size) - size) / (EVENTS * SUBSCRIBERS)
        started = store.clock.now()
        with serving(directory) as server:
            time.sleep(WATCHED)
            first, most = store.read_sync(_first), server.memory("VmHWM")
        store.shut()
    seconds = (first - started) / 1_000_000
    yield Row(
        "restart, 1,000,000 waiting: the first is sent after", "s", seconds,
        wanted=WANTED_S, more=False, absolute=True,
    )  # fmt: skip
    yield Row(
        "restart, 1,000,000 waiting: peak memory", "MB", most,
        wanted=WANTED_MB, more=False, absolute=True,
    )  # fmt: skip
    yield Row(
        "a delivery on disk, beside its attempts", "bytes", bytes_each,
        wanted=WANTED_BYTES, more=False, absolute=True,
    )  # fmt: skip


def _size(db: Connection) -> int:
    found: int = db.value("PRAGMA page_count") * db.value("PRAGMA page_size")
    return found


def _first(db: Connection) -> int:
    found: int | None = db.value("SELECT min(started_at) FROM attempt")
    if found is None:
        raise RuntimeError("nothing was sent")
    return found
