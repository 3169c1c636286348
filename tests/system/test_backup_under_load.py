"""A backup under load contains every event that was accepted before it began, restores to an
intact database, and does not delay new events.
"""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from daemon import Poster, Site, ledger, said
from waiting import Stopwatch, until

EVENTS = 200_000
# A backup that locks the database would delay events in each of so many tries.
TRIES = 10


def guids(database: Path) -> set[str]:
    with closing(sqlite3.connect(database)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
        return {row[0] for row in raw.execute("SELECT guid FROM event WHERE name = 'push'")}


class Waits:
    """The longest time without an accepted event while `watch` runs."""

    def __init__(self, poster: Poster) -> None:
        self._poster = poster
        self.longest = 0.0

    async def watch(self) -> None:
        known, since = -1, Stopwatch()
        while True:
            if len(self._poster.accepted) != known:
                known, since = len(self._poster.accepted), Stopwatch()
            self.longest = max(self.longest, since.seconds())
            await asyncio.sleep(0.005)


async def test_a_backup_under_load_holds_every_accepted_event(site: Site, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db.zst"
    async with ledger() as receiver:
        site.hook(receiver)
        daemon = await site.serve()
        poster = Poster(site, EVENTS)
        posting = asyncio.create_task(poster.post())
        waits = Waits(poster)
        await until(lambda: len(poster.accepted) > 2_000, "2,000 events")
        before, watching = set(poster.accepted), asyncio.create_task(waits.watch())
        made, quick = 0, False
        # On a busy machine, other programs may delay events during one backup, and it may end
        # before so many were posted.
        while made < TRIES:
            made += 1
            taken, waits.longest = Stopwatch(), 0.0
            reported = await said(site.folder, "backup", str(backup), "--with-key", "--overwrite")
            quick = quick or waits.longest < taken.seconds() / 2
            if quick and len(poster.accepted) > len(before) + 100:
                break
        after = set(poster.accepted)
        watching.cancel()
        assert not posting.done(), "the load lasts until the backup ends"
        assert len(after) > len(before) + 100
        assert await daemon.end() == 0
        posting.cancel()
    assert "checked, not damaged" in reported
    assert quick, "each backup delays events"
    there = tmp_path / "there"
    await said(there, "restore", str(backup))
    found = guids(there / "tocsin.db")
    assert before <= found
    assert len(found) < EVENTS, "the backup is a snapshot of one moment"
    # The restore adds an entry, and each backup before this one has.
    assert (await said(there, "audit", "verify")).startswith(f"{made} entries")


async def test_restored_deliveries_are_delivered_to_the_end(site: Site, tmp_path: Path) -> None:
    """Deliveries made after the backup are repeated, with the same delivery ids."""
    async with ledger(0.002) as receiver:
        site.hook(receiver)
        await site.serve()
        poster = Poster(site, 400)
        posting = asyncio.create_task(poster.post())
        await until(lambda: len(poster.accepted) > 100, "100 events")
        before = set(poster.accepted)
        await said(site.folder, "backup", str(tmp_path / "backup.db"))
        await posting
        await site.close()
        for path in site.folder.glob("tocsin.db*"):
            path.unlink()
        await said(site.folder, "restore", str(tmp_path / "backup.db"))
        receiver.got.clear()
        daemon = await site.serve()
        await until(lambda: "waiting" not in site.states(), "all deliveries")
        assert await daemon.end() == 0
        rows = site.rows()
        assert before <= {row["guid"] for row in rows}
        assert {row["state"] for row in rows} == {"delivered"}
    shutil.rmtree(site.folder)
