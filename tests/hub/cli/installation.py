"""The initial store for tests of the command line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engines import opened_store

from store import Connection, Store
from store.accounts import accounts
from store.delivery import events
from store.delivery.incoming import IncomingEvent
from store.hooks import hooks
from store.repositories import repositories


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    """Open the SQLite store of a data directory during the block."""
    with opened_store("sqlite", folder) as store:
        yield store


def seed(db: Connection) -> int:
    """Create `ada/bell`, a hook for pushes, two pushes and a fork event. Return the hook's id."""
    user = accounts.create(db, "ada")
    repo = repositories.create(db, user["id"], "bell")
    hook = hooks.create(
        db, repo["id"], url="https://receiver.example/hook", events=["push"], secret="hush"
    )
    arrivals = [
        IncomingEvent(repo["id"], f"guid-{number}", repo["id"], "push", b'{"number": %d}' % number)
        for number in range(2)
    ]
    events.accept_all(
        db, [*arrivals, IncomingEvent(repo["id"], "guid-x", repo["id"], "fork", b"{}")]
    )
    hook_id: int = hook["id"]
    return hook_id
