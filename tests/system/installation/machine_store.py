"""Reads and writes the database of a machine's service, as a process in the machine.

A line of input names a function of this module, with its arguments. A line of output is its result.
Each request opens the database, as a command does. A command needs a hundred times as long, because
it first imports the product.
"""

import json
import sys
from pathlib import Path
from typing import Any

from store import Store
from store.crypto.vault import open_vault
from store.database.opening import open_unmigrated
from store.delivery import delivery_queries, hook_removal
from store.hooks import hook_queries, hooks
from store.repositories import repositories

KEY, DATA = Path("/etc/tocsin/secret.key"), Path("/var/lib/tocsin")


def hook(store: Store, url: str, options: dict[str, Any]) -> None:
    """Create a hook of ada/engine for pushes."""
    store.write_sync(_hook, url, options)


def _hook(db: Any, url: str, options: dict[str, Any]) -> None:
    repo = repositories.find(db, "ada", "engine")
    assert repo is not None
    hooks.create(
        db, repo["id"], url=url, events=["push"], content_type="json", secret="s", options=options
    )


def forget_hooks(store: Store) -> None:
    """Delete all hooks of ada/engine, with their deliveries."""
    store.write_sync(_forget_hooks)


def _forget_hooks(db: Any) -> None:
    repo = repositories.find(db, "ada", "engine")
    # A service that was installed anew knows no repository yet.
    for found in hook_queries.page(db, repo["id"], limit=100) if repo else ():
        hook_removal.delete(db, found)


def rows(store: Store) -> list[dict[str, Any]]:
    """Return every delivery, the newest first."""
    return store.read_sync(delivery_queries.page, limit=100_000)


def count(store: Store, where: str) -> int:
    """Return the number of deliveries that match an SQL condition."""
    statement = f"SELECT count(*) FROM delivery WHERE {where}"
    return store.read_sync(lambda db: int(db.value(statement)))


def main() -> None:
    functions = {one.__name__: one for one in (hook, forget_hooks, rows, count)}
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        store = open_unmigrated("sqlite", data_dir=DATA, vault=open_vault(KEY, create=False))
        try:
            print(json.dumps(functions[name](store, *arguments), default=str), flush=True)
        finally:
            store.shut()


if __name__ == "__main__":
    main()
