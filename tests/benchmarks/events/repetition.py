"""Creating hooks of a target that has many. A new hook is compared with hooks of the same URL."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from store import Connection, Store, open_store
from store.hooks import hook_targets, hooks
from store.hooks.hook_targets import COLUMNS, HookTarget
from tests.benchmarks.harness import world
from tests.benchmarks.harness.figure import Bench, Row

FEW, MANY = 100, 10_000
CREATED = 100
WANTED = 1.5
URL = "https://receiver.example/hooks/{}"


def measure(bench: Bench) -> Iterator[Row]:
    """Microseconds of processor time a hook."""
    for kind in ("repository", "organization"):
        stores = {
            many: _filled(bench.directory / f"{kind}-{many}", kind, many) for many in (FEW, MANY)
        }
        name = f"create a hook of one {kind} with {MANY:,}, of one with {FEW:,}"
        turns = bench.turns(
            name,
            ours=partial(_cost, *stores[MANY]),
            reference=partial(_cost, *stores[FEW]),
        )
        yield turns.row(name, "us", WANTED, more=False)
        for store, _ in stores.values():
            store.shut()


def _filled(directory: Path, kind: str, many: int) -> tuple[Store, HookTarget]:
    """Create a store with `many` hooks of one target."""
    store = open_store("sqlite", data_dir=directory)
    repo_id = store.write_sync(world.make)["repo_id"]
    owner_id = store.read_sync(
        lambda db: db.value("SELECT owner_id FROM repository WHERE id = :id", id=repo_id)
    )
    targets = {
        "repository": hook_targets.repository(repo_id),
        "organization": hook_targets.organization(owner_id),
    }
    store.write_sync(_fill, targets[kind], many)
    return store, targets[kind]


def _fill(db: Connection, target: HookTarget, many: int) -> None:
    columns = f"{COLUMNS[target.kind]}, url, content_type, events, options, created_at, updated_at"
    rows = [(target.id, URL.format(at), "json", '["push"]', "{}", 1, 1) for at in range(many)]
    db.insert_many("hook", columns, rows)


def _cost(store: Store, target: HookTarget) -> float:
    """Create some hooks, then delete them, so that each round starts with the same number."""
    started = time.process_time()
    ids = [
        store.write_sync(hooks.create, target, url=URL.format(f"new-{at}"), events=["push"])["id"]
        for at in range(CREATED)
    ]
    seconds = time.process_time() - started
    store.write_sync(_remove, min(ids))
    return seconds / CREATED * 1_000_000


def _remove(db: Connection, first: int) -> None:
    db.execute("DELETE FROM hook WHERE id >= :first", first=first)
