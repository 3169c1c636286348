"""The store that tests of the command line begin with."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from store import Connection, Store, open_store
from store.accounts import accounts
from store.delivery import events
from store.delivery.incoming import IncomingEvent
from store.hooks import hooks
from store.repositories import repositories


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    """The store in a data directory, for the length of the block."""
    store = open_store("sqlite", data_dir=folder)
    try:
        yield store
    finally:
        store.shut()


def seed(db: Connection) -> int:
    """A repository `ada/bell` with a hook for pushes and two of them; returns the hook's id."""
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
