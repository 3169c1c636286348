"""The database: locked by somebody else, and with a log whose end is not what was written."""

import asyncio
import contextlib
import os
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path

from tests.system.daemon import Site
from tests.torture.finding import Trial
from tests.torture.scene import scene

LOCKED = 8.0
HEADER, FRAME = 32, 24
EVENTS = 200


@contextlib.contextmanager
def writing(site: Site) -> Iterator[None]:
    """Another program has an open write transaction on the database."""
    other = sqlite3.connect(site.folder / "tocsin.db", isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        yield
    finally:
        other.close()


async def locked(trial: Trial) -> None:
    """Somebody else writes for some seconds: who posts waits, or is told to come again."""
    async with scene(trial) as here:
        await here.serve()
        here.post()
        await here.accepted(EVENTS)
        with writing(here.site):
            known = len(here.sender.accepted)
            await asyncio.sleep(LOCKED)
            more = len(here.sender.accepted) - known
            # Writes that were being committed as the lock was taken.
            trial.find("accepted while locked", "at most what was in hand", more, more <= 8)
        await here.accepted(EVENTS)
        await here.end()


async def torn_frame(trial: Trial) -> None:
    """The machine stopped while a frame was written: half of it is there, and rubbish after it."""
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
    """The disk gives back something else than was written: at most the last commit is gone, and
    who posts it again loses nothing.
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
    """Where the last frame that belongs to the log begins and ends. (The file format is told in
    SQLite's documentation, "The WAL file format".)
    """
    page = struct.unpack(">I", log[8:12])[0]
    salts = log[16:24]
    start = HEADER
    while log[start + FRAME + page + 8 : start + FRAME + page + 16] == salts:
        start += FRAME + page
    return start, start + FRAME + page


def _missing(site: Site, guids: set[str]) -> set[str]:
    with site.opened() as store:
        there = store.look(lambda db: {guid for (guid,) in db.tuples("SELECT guid FROM event")})
    return guids - there
