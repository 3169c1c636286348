"""After `kill -9` during a report, no partial file is left, and the next worker makes it."""

import hashlib
from pathlib import Path

from daemon import Site
from usage_world import many, using
from waiting import until

from store import Connection, Row, Store
from store.assistant import report_files, reports, usage_days
from store.jobs import jobs

USERS, EACH = 4_000, 3


def filled(db: Connection) -> int:
    """Record usage for the two days before today. Return the enterprise's id."""
    world = using(db)
    today = usage_days.of_moment(db.now)
    for day in (today - 2, today - 1):
        many(db, world, usage_days.iso(day), USERS, EACH)
    return int(world.enterprise["id"])


def made(store: Store) -> list[Row]:
    return store.read_sync(lambda db: db.all("SELECT * FROM report WHERE made_at IS NOT NULL"))


def parts(store: Store) -> int:
    """Return the number of stored parts of unfinished reports."""
    return int(
        store.read_sync(
            lambda db: db.value(
                "SELECT count(*) FROM report_part p JOIN report r ON r.id = p.report_id"
                " WHERE r.made_at IS NULL"
            )
        )
    )


def check_whole(store: Store, folder: Path) -> None:
    """Check that the file of each finished report has the recorded content."""
    for row in made(store):
        content = report_files.path(folder, row["id"]).read_bytes()
        assert len(content) == row["size"]
        assert content.count(b"\n") == row["lines"]
        assert hashlib.sha256(content).hexdigest() == row["digest"]


async def test_a_report_that_is_killed_is_made_all_the_same(site: Site) -> None:
    with site.opened() as store:
        enterprise_id = store.write_sync(filled)
        for there in (0, len(reports.OF_A_DAY)):
            # The second kill hits the reports of the second day, in the same run of the job.
            worker = await site.serve("--only", "worker")
            await until(lambda: store.read_sync(jobs.get, "reports"), "the job")
            if not there:
                store.write_sync(jobs.request_run, "reports")
            await until(
                lambda n=there: len(made(store)) == n and parts(store) > 0, "a report's part"
            )
            await worker.kill()
            assert parts(store) > 0, "no report was under way at the kill"
            assert len(made(store)) == there
            check_whole(store, site.folder)
        worker = await site.serve("--only", "worker")
        await until(lambda: len(made(store)) == 10, "all reports")
        assert await worker.end() == 0
        check_whole(store, site.folder)
        names = {each.name for each in report_files.folder(site.folder).iterdir()}
        assert names == {f"{row['id']}.ndjson" for row in made(store)}
        assert parts(store) == 0
        row = store.read_sync(reports.latest, enterprise_id, "users-28-day")
        assert row is not None
        # Each user has a line, and one for each editor, language, model and organization.
        assert row["lines"] == USERS * (1 + EACH + 3)
    assert site.integrity() == "ok"
