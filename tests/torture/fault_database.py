"""Faults of the SQLite database: a lock of another program, and a damaged end of the WAL."""

import asyncio
import contextlib
import os
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path

from daemon import Site

from tests.torture.finding import Trial
from tests.torture.scene import scene

LOCKED = 8.0
HEADER, FRAME = 32, 24
EVENTS = 200


@contextlib.contextmanager
def writing(site: Site) -> Iterator[None]:
    """Keep a write transaction open for the block, as another program might."""
    other = sqlite3.connect(site.folder / "tocsin.db", isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        yield
    finally:
        other.close()


async def locked(trial: Trial) -> None:
    """Another program locks the database for some seconds: clients wait, or must retry."""
    async with scene(trial) as here:
        await here.serve()
        here.post()
        await here.accepted(EVENTS)
        with writing(here.site):
            known = len(here.sender.accepted)
            await asyncio.sleep(LOCKED)
            more = len(here.sender.accepted) - known
            # Some writes were being committed when the lock was taken.
            trial.find("accepted while locked", "at most the writes under way", more, more <= 8)
        await here.accepted(EVENTS)
        await here.end()


async def torn_frame(trial: Trial) -> None:
    """The machine stopped while a WAL frame was written: the log ends with random bytes."""
    async with scene(trial) as here:
        await here.serve()
        here.post()
        await here.accepted(EVENTS)
        await here.kill()
        wal = here.site.folder / "tocsin.db-wal"
        with wal.open("r+b") as log:
            _, end = _last(log.read())
            log.truncate(end)
            log.seek(end)
            log.write(os.urandom(FRAME + 1000))
        await here.serve()
        await here.end()


async def damaged_frame(trial: Trial) -> None:
    """The disk corrupts the last frame: at most the last commit is lost, and a client that posts
    its events again loses nothing.
    """
    async with scene(trial) as here:
        await here.serve()
        here.post(1)
        await here.accepted(EVENTS)
        await here.kill()
        _damage(here.site.folder / "tocsin.db-wal")
        await here.serve()
        here.sender.accepted -= (gone := _missing(here.site, here.sender.accepted))
        trial.find("events of the last commit that are gone", "at most 8", len(gone), len(gone) < 9)
        here.sender.again += gone
        here.post()
        await here.accepted(EVENTS)
        await here.end()


def _damage(wal: Path) -> None:
    with wal.open("r+b") as log:
        start, end = _last(log.read())
        log.seek(start + FRAME)
        log.write(os.urandom(end - start - FRAME))


def _last(log: bytes) -> tuple[int, int]:
    """Return the offsets at which the last valid frame begins and ends.

    SQLite's documentation describes the file in "The WAL file format".
    """
    page = struct.unpack(">I", log[8:12])[0]
    salts = log[16:24]
    start = HEADER
    while log[start + FRAME + page + 8 : start + FRAME + page + 16] == salts:
        start += FRAME + page
    return start, start + FRAME + page


def _missing(site: Site, guids: set[str]) -> set[str]:
    with site.opened() as store:
        there = store.read_sync(
            lambda db: {guid for (guid,) in db.tuples("SELECT guid FROM event")}
        )
    return guids - there
