"""The job runner: it runs each job of a table at its time, once among all workers.

The store holds the due times. APScheduler wakes this process at the next of them. A change in the
store wakes it earlier. A poll every few seconds finds the jobs that are left when a clock has
jumped or a worker has died.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.date import DateTrigger

from store import Connection, Row, Store
from store.clock import SECOND
from store.errors import StoreError
from store.jobs import jobs
from store.jobs.jobs import CLAIM_TIMEOUT
from worker.scheduler.job_records import JobRecord, ScheduledJob, list_records, save_records
from worker.tuning import DEFAULTS

# A job that is later than this (microseconds) counts as overdue.
MISSED_AFTER = SECOND
# Seconds after which the claim of a running job is extended.
EXTEND_EVERY = CLAIM_TIMEOUT / SECOND / 3
# Due times that differ by less count as equal.
TIMER_TOLERANCE = timedelta(milliseconds=1)

log = logging.getLogger("tocsin.worker")


async def run_job(
    store: Store, job: ScheduledJob, holder: str, *, extend_every: float = EXTEND_EVERY
) -> bool:
    """Run a job if it is due or requested and no other worker has claimed it. Record the result.

    Return False if it could not be claimed.
    """
    claimed = await store.write(jobs.claim, job.name, holder)
    if claimed is None:
        return False
    try:
        await _run_claimed(store, job, holder, extend_every)
    except asyncio.CancelledError:
        with contextlib.suppress(StoreError):
            await asyncio.shield(store.write(jobs.release, claimed))
        raise
    except Exception as error:
        log.error("job %s: %s", job.name, error, exc_info=not isinstance(error, StoreError))
        await store.write(jobs.fail, claimed, _error_text(error))
    else:
        await store.write(_complete, job, claimed)
    return True


def _error_text(error: Exception) -> str:
    return str(error) if isinstance(error, StoreError) else f"{type(error).__name__}: see the log"


def _complete(db: Connection, job: ScheduledJob, claimed: Row) -> None:
    jobs.complete(db, claimed, job.when.next(db, claimed))


async def _run_claimed(store: Store, job: ScheduledJob, holder: str, extend_every: float) -> None:
    """Run a claimed job and extend its claim meanwhile.

    If another worker has claimed it, cancel it.
    """
    running = asyncio.ensure_future(job.run())
    try:
        while not (await asyncio.wait({running}, timeout=extend_every))[0]:
            held = True
            with contextlib.suppress(StoreError):
                held = await store.write_relaxed(jobs.extend_claim, job.name, holder)
            if not held:
                raise _ClaimLost
        running.result()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


class _ClaimLost(StoreError):
    """Another worker has claimed the job."""

    def __str__(self) -> str:
        return "its claim was extended too late: another worker has claimed it"


class JobRunner:
    """A runner of a table's jobs with APScheduler, from `start` to `stop`."""

    def __init__(
        self, store: Store, overdue_head_start: float = DEFAULTS.overdue_head_start
    ) -> None:
        self._store = store
        self._head_start = overdue_head_start
        self._table: Sequence[ScheduledJob] = ()
        self._holder = ""
        self._scheduler = AsyncIOScheduler(timezone=UTC)
        self._running: dict[str, asyncio.Task[bool]] = {}
        self._unrecorded: set[str] = set()
        """Jobs that wait for the next wake-up, because the store did not record their run."""
        self._polling: asyncio.Task[None] | None = None
        self._again = False
        self._at_work = False
        self._cleared = False
        self._others_forgotten = False

    @property
    def next_runs(self) -> dict[str, datetime]:
        """Return when this process wakes for each job."""
        return {job.id: job.next_run_time for job in self._scheduler.get_jobs()}

    def start(self, table: Sequence[ScheduledJob], holder: str) -> None:
        """Run the overdue jobs in order, and then each job when it is due.

        `holder` names this worker.
        """
        self._table, self._holder, self._at_work = table, holder, True
        self._scheduler.start()
        self.wake()

    def change(self, table: Sequence[ScheduledJob]) -> None:
        """Use another table.

        Jobs that are running finish by the old one.
        """
        self._table = table
        self._others_forgotten = False
        self.wake()

    @property
    def table(self) -> Sequence[ScheduledJob]:
        return self._table

    @property
    def idle(self) -> bool:
        """Return whether no job runs and no poll is under way."""
        return self._polling is None and not self._running

    def wake(self) -> None:
        """Start the jobs that are due."""
        self._unrecorded.clear()
        self._again = self._at_work
        if self._polling is None and self._at_work:
            self._polling = asyncio.get_running_loop().create_task(self._poll())

    async def _poll(self) -> None:
        try:
            while self._again:
                self._again = False
                await self._release_abandoned()
                await self._forget_others()
                await self._start_due()
        except StoreError as error:
            # The next poll, in a few seconds, tries again.
            log.error("jobs wait for the store: %s", error)
        finally:
            self._polling = None

    async def _release_abandoned(self) -> None:
        """Release the claims that a crash has left, if no other worker can exist."""
        if not self._cleared and self._store.engine.single_worker:
            await self._store.write(jobs.release_all)
        self._cleared = True

    async def _forget_others(self) -> None:
        """Delete the jobs that this table does not have: nothing would end their failures.

        This happens once for each table. A worker with another table schedules its jobs again.
        """
        if not self._others_forgotten:
            await self._store.write(jobs.forget_others, [job.name for job in self._table])
        self._others_forgotten = True

    async def _start_due(self) -> None:
        """Start everything that is due.

        Overdue jobs start in order, one after the other. A long one delays the next only for a
        while.
        """
        while (record := self._next_due(await self._refresh_records())) is not None:
            task = asyncio.get_running_loop().create_task(self._run(record.job))
            self._running[record.job.name] = task
            if (record.wanted_at or 0) < self._store.clock.now() - MISSED_AFTER:
                await asyncio.wait({task}, timeout=self._head_start)

    async def _refresh_records(self) -> list[JobRecord]:
        records = await self._store.read(list_records, self._table)
        if any(record.changed for record in records):
            records = await self._store.write_relaxed(save_records, self._table)
        return records

    def _next_due(self, records: Sequence[JobRecord]) -> JobRecord | None:
        """Return the first job that is due. If there is none, set the timers.

        A runner that has been aborted meanwhile starts nothing, and has no timers.
        """
        if not self._at_work:
            return None
        now = self._store.clock.now()
        busy = self._running.keys() | self._unrecorded
        waiting = [record for record in records if record.job.name not in busy]
        for record in waiting:
            moment = jobs.ready_at(record.row, now)
            if moment is not None and moment <= now:
                return record
        self._set_timers(waiting, now)
        return None

    def _set_timers(self, records: Sequence[JobRecord], now: int) -> None:
        here = datetime.now(UTC)
        known = self.next_runs
        for job, row, _ in records:
            moment = jobs.ready_at(row, now)
            if moment is None:
                continue
            # The store's clock may differ from this machine's.
            at = here + timedelta(microseconds=moment - now)
            if job.name not in known or abs(known[job.name] - at) > TIMER_TOLERANCE:
                self._scheduler.add_job(
                    self._on_timer,
                    DateTrigger(at, timezone=UTC),
                    id=job.name,
                    replace_existing=True,
                    misfire_grace_time=None,
                )

    async def _on_timer(self) -> None:
        self.wake()

    async def _run(self, job: ScheduledJob) -> bool:
        try:
            ran = await run_job(self._store, job, self._holder)
        except Exception as error:
            known = isinstance(error, StoreError)
            log.error("job %s cannot be recorded: %s", job.name, error, exc_info=not known)
            # The job is still due. If it started again at once, it would fail at once, without end.
            self._unrecorded.add(job.name)
            return False
        finally:
            del self._running[job.name]
        self.wake()
        return ran

    def abort(self) -> None:
        """Start no further job, without waiting for running ones."""
        self._at_work = self._again = False
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    async def stop(self) -> None:
        """Start no further job, and cancel the running ones."""
        self.abort()
        tasks = [*self._running.values(), *([self._polling] if self._polling is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
