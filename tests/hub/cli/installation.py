"""The initial store for tests of the command line."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
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


def damage_index(database: Path) -> None:
    """Change the login `ada` in the index of logins of a closed database, but not in the table."""
    with closing(sqlite3.connect(database)) as raw:
        named = "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_account_1'"
        ((root,),), ((size,),) = (raw.execute(sql) for sql in (named, "PRAGMA page_size"))
    with database.open("r+b") as file:
        file.seek((root - 1) * size)
        page = file.read(size)
        assert b"ada" in page
        file.seek((root - 1) * size)
        file.write(page.replace(b"ada", b"bda"))
