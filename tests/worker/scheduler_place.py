"""A store, a movable clock and job runners, for tests of scheduled jobs."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from engines import open_furnished
from waiting import until
from worker_harness import settle

from store import Row, Store
from store.clock import MovableClock
from store.jobs import jobs
from worker.scheduler.job_records import ScheduledJob
from worker.scheduler.job_runner import JobRunner
from worker.scheduler.triggers import Trigger
from worker.tuning import DEFAULTS


class Place:
    """A store, a movable clock, and job runners whose jobs the test defines."""

    def __init__(self, url: str, folder: Path, clock: MovableClock) -> None:
        self.url, self.folder, self.clock = url, folder, clock
        self.store = self.another_store()
        self.runs: list[str] = []
        self.scripts: dict[str, Callable[[], Awaitable[None]]] = {}
        self.table: list[ScheduledJob] = []
        self.runners: list[JobRunner] = []
        self.head_start = DEFAULTS.overdue_head_start
        self.stores = [self.store]

    def another_store(self) -> Store:
        return open_furnished(self.url, self.folder, self.clock)

    def job(self, name: str, when: Trigger) -> ScheduledJob:
        async def run() -> None:
            self.runs.append(name)
            if name in self.scripts:
                await self.scripts[name]()

        made = ScheduledJob(name, when, run)
        self.table.append(made)
        return made

    def start(self, holder: str = "one", store: Store | None = None) -> JobRunner:
        made = JobRunner(store or self.store, self.head_start)
        made.start(self.table, holder)
        self.runners.append(made)
        return made

    async def passed(self, seconds: float) -> None:
        """Move the clock, wake the job runners and wait until they are idle."""
        self.clock.advance(seconds)
        for each in self.runners:
            each.wake()
        await self.quiet()

    async def quiet(self) -> None:
        """Wait until no job runs and no job runner checks for due jobs."""
        await settle(5)
        await until(lambda: all(each.idle for each in self.runners))

    def row(self, name: str) -> Row:
        found = self.store.read_sync(jobs.get, name)
        assert found is not None
        return found

    async def stop(self) -> None:
        for each in self.runners:
            await each.stop()
        self.runners.clear()
