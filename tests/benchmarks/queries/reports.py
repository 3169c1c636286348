"""Usage reports: the memory and the time for a day of a million rows."""

import time
from collections.abc import Iterator
from pathlib import Path

from store import Connection, open_store
from store.accounts import accounts
from store.assistant import reports, usage, usage_days
from store.assistant.usage import UsageRecord
from store.enterprises import enterprises
from tests.benchmarks.harness import apart
from tests.benchmarks.harness.figure import Bench, Row
from worker.jobs.reports import make
from worker.settings import WorkerSettings

ROWS, USERS = 1_000_000, 50_000
EDITORS, MODELS = 4, 5
BATCH = 10_000
WANTED_MB = 300.0


def measure(bench: Bench) -> Iterator[Row]:
    """Peak megabytes of the process that makes the reports, and seconds. One round is enough."""
    bench.said(f"reports: {ROWS:,} rows")
    filling = apart.call(fill, folder=str(bench.directory))
    bench.said("reports: being made")
    found = apart.call(report, folder=str(bench.directory))
    name = f"reports of a day of {ROWS:,} rows of usage"
    yield Row(f"{name}: peak", "MB", found["peak"], wanted=WANTED_MB, more=False, absolute=True)
    yield Row(f"{name}: six files of {found['size'] >> 20} MB", "s", found["seconds"])
    yield Row("rows of accepted usage", "/s", ROWS / filling["seconds"])


def fill(folder: str) -> dict[str, float]:
    """Record the usage of yesterday in batches. Return the seconds."""
    store = open_store("sqlite", data_dir=Path(folder))
    enterprise_id, organization_id = store.write_sync(_enterprise)
    day = usage_days.of_moment(store.clock.now()) - 1
    began = time.perf_counter()
    for first in range(0, ROWS, BATCH):
        rows = [_row(enterprise_id, organization_id, day, at) for at in range(first, first + BATCH)]
        store.write_sync(usage.record, rows)
    seconds = time.perf_counter() - began
    store.shut()
    return {"seconds": seconds}


def _enterprise(db: Connection) -> tuple[int, int]:
    enterprise = enterprises.create(db, "globe")
    organization = accounts.create(db, "acme", kind="Organization")
    enterprises.adopt(db, enterprise["id"], organization["id"])
    columns = "login, login_key, kind, created_at, updated_at"
    people = [(f"u{at}", f"u{at}", "User", 1, 1) for at in range(USERS)]
    db.insert_many("account", columns, people)
    return enterprise["id"], organization["id"]


def _row(enterprise_id: int, organization_id: int, day: int, at: int) -> UsageRecord:
    user, which = at % USERS, at // USERS
    return UsageRecord(
        enterprise_id,
        organization_id,
        2 + user,
        day,
        repo_id=1 + at % 500,
        editor=f"editor {which % EDITORS}",
        language=f"language {at % 30}",
        model=f"model {which % MODELS}",
        suggestions=at % 50,
        acceptances=at % 7,
        lines=at % 90,
        chats=at % 3,
        active=True,
        engaged=at % 2 == 0,
    )


async def report(folder: str) -> dict[str, float]:
    """Make the reports. Return the seconds, the bytes of the files, and the peak memory."""
    store = open_store("sqlite", data_dir=Path(folder), create=False)
    began = time.perf_counter()
    await make(store, WorkerSettings(data_dir=Path(folder)))
    seconds = time.perf_counter() - began
    size = store.read_sync(
        lambda db: db.value("SELECT sum(size) FROM report WHERE made_at IS NOT NULL")
    )
    many = store.read_sync(
        lambda db: db.value("SELECT count(*) FROM report WHERE made_at IS NOT NULL")
    )
    if many != len(reports.OF_A_DAY) + len(reports.OF_A_WINDOW):
        raise RuntimeError(f"{many} reports were made")
    await store.close()
    return {"seconds": seconds, "size": size, "peak": _peak()}


def _peak() -> float:
    """Return the peak of this process's resident megabytes."""
    status = Path("/proc/self/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024
