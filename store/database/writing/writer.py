"""The writer: queued jobs are committed as one group, and their callers get results after that.

Group commits make durability affordable: a group needs one sync to disk, however many callers it
has.
"""

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable

from store.clock import Clock
from store.database.connection import Session
from store.database.metrics import StoreMetrics
from store.database.writing.condition import DatabaseCondition
from store.database.writing.retries import retried
from store.database.writing.write_group import WriteGroup, WriteJob, call
from store.errors import Busy, Contended, Damaged, Full, Unavailable, Unusable

log = logging.getLogger("tocsin.store")

# Beyond these limits jobs are refused, so that a slow disk does not fill the memory.
MOST_WAITING = 20_000
MOST_BYTES = 64 * 1024 * 1024
MOST_IN_GROUP = 2_000


class Writer:
    """Accepts jobs on the event loop and commits them on a thread."""

    def __init__(
        self,
        session: Callable[[], Session],
        clock: Clock,
        metrics: StoreMetrics | None = None,
        condition: DatabaseCondition | None = None,
    ) -> None:
        # Commands import this module, and write without a writer.
        import asyncio

        self._connect = session
        self._session: Session | None = None
        self._closed = False
        self._ended = asyncio.Event()
        self._clock = clock
        self._metrics = metrics or StoreMetrics()
        self._condition = condition or DatabaseCondition()
        self.loop = asyncio.get_running_loop()
        """The loop on which results are set."""
        self._pending: list[WriteJob] = []
        self._waiting = 0
        self._bytes = 0
        self.pending_durable = 0
        """How many jobs wait for a commit that reaches the disk."""
        self._metrics.waiting.read = lambda: self._waiting
        self._metrics.held.read = lambda: self._bytes
        self._queue: queue.SimpleQueue[list[WriteJob] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="tocsin-writer", daemon=True)
        self._thread.start()

    def submit(self, job: WriteJob) -> None:
        """Queue a job. Raises Busy if too much is queued, Unavailable if the writer is closed."""
        if self._closed:
            raise Unavailable("the store is closed")
        if self._waiting >= MOST_WAITING or self._bytes + job.weight > MOST_BYTES:
            self._metrics.refused.add()
            raise Busy("too much is waiting to be written; try again in a moment")
        self._waiting += 1
        self._bytes += job.weight
        self.pending_durable += job.durable
        # Jobs are handed to the thread once per iteration of the loop, because waking it costs more
        # than a job.
        if not self._pending:
            self.loop.call_soon(self._hand_over)
        self._pending.append(job)

    def _hand_over(self) -> None:
        self._queue.put(self._pending)
        self._pending = []

    async def close(self) -> None:
        """Commit the queued jobs and end the thread."""
        self._closed = True
        if self._pending:
            self._hand_over()
        self._queue.put(None)
        await self._ended.wait()
        self._thread.join()

    def abort(self) -> None:
        """End the thread.

        When this returns, every queued job was committed or discarded. The callers that wait for
        these jobs get no answer.
        """
        self._closed = True
        self._hand_over()
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        running = True
        while running:
            jobs, running = self._dequeue()
            if jobs:
                self._process(jobs)
        if self._session is not None:
            self._session.close()
        # If the loop is closed, nobody waits for the end.
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._ended.set)

    def _dequeue(self) -> tuple[list[WriteJob], bool]:
        jobs: list[WriteJob] = []
        jobs_in = self._queue.get()
        while jobs_in is not None:
            jobs.extend(jobs_in)
            if len(jobs) >= MOST_IN_GROUP or self._queue.empty():
                return jobs, True
            jobs_in = self._queue.get()
        return jobs, False

    def _process(self, jobs: list[WriteJob]) -> None:
        """Commit jobs as a group, and then what left it: runs that others blocked, or its parts."""
        waiting = [jobs]
        while waiting:
            group = WriteGroup(waiting.pop(0))
            waiting = self._commit(group) + waiting
            if waiting and isinstance(group.failure, Unavailable):
                # The others would wait as long for the same lock or database, or need more room.
                rest = WriteGroup([job for run in waiting for job in run])
                rest.fail(group.failure)
                self.loop.call_soon_threadsafe(self._resolve, rest)
                return

    def _commit(self, group: WriteGroup) -> list[list[WriteJob]]:
        """Commit a group, and retry if others conflict with it. Return the runs that left it."""
        began = time.perf_counter()
        apart: list[list[WriteJob]] = []
        try:
            retried(lambda: self._try(group))
            apart = group.release_apart()
            self._metrics.writes.add(many=len(group.jobs))
        except BaseException as error:
            self._metrics.failures.add()
            self._roll_back()
            if isinstance(error, (Damaged, Full)) and len(group.jobs) > 1:
                # SQLite lets all later statements of a transaction that met damage fail, whatever
                # they read. And one large write must not keep small ones from the room there is.
                apart = group.divide()
            elif not isinstance(error, Unavailable):
                log.exception("a group of %d writes failed", len(group.jobs))
            if not apart:
                group.fail(error)
        self._metrics.commits.add(time.perf_counter() - began)
        self.loop.call_soon_threadsafe(self._resolve, group)
        return apart

    def _try(self, group: WriteGroup) -> None:
        session = self._opened()
        try:
            if not self._commit_single_run(session, group):
                self._commit_with_savepoints(session, group)
        except Contended:
            session.rollback()
            raise

    def _opened(self) -> Session:
        if self._session is None:
            try:
                self._session = self._connect()
            except Unusable as error:
                raise Unavailable(str(error)) from error
        return self._session

    def _roll_back(self) -> None:
        """Roll back the open transaction.

        If that fails, replace the connection, because this thread must continue.
        """
        if self._session is None:
            return
        try:
            self._session.rollback()
        except Exception:
            log.exception("a connection to the database failed and is replaced")
            with contextlib.suppress(Exception):
                self._session.close()
            self._session = None

    def _commit_single_run(self, session: Session, group: WriteGroup) -> bool:
        """Commit a group without savepoints if it is a single run.

        Return False if it has several runs, or if its batch failed and must be split, or if a
        second try of its job may pass.
        """
        if len(group.runs()) > 1:
            return False
        try:
            self._begin(session, group)
            call(session.db, group.jobs)
            session.commit()
        except Unavailable:
            raise
        except Exception as error:
            session.rollback()
            if len(group.jobs) > 1 or session.is_conflict(error):
                return False
            group.jobs[0].error = error
            return True
        group.finished = list(session.finished)
        return True

    def _commit_with_savepoints(self, session: Session, group: WriteGroup) -> None:
        self._begin(session, group)
        group.execute(session)
        session.commit()
        group.finished = list(session.finished)

    def _begin(self, session: Session, group: WriteGroup) -> None:
        for job in group.jobs:
            job.error = None
        durable = any(job.durable for job in group.jobs)
        session.begin(self._clock.now(), write=True, durable=durable)

    def _resolve(self, group: WriteGroup) -> None:
        for finish in group.finished:
            try:
                finish()
            except Exception:
                # The transaction is committed, so its callers must get their results.
                log.exception("a callback after a commit failed")
        for job in group.jobs:
            self._waiting -= 1
            self._bytes -= job.weight
            self.pending_durable -= job.durable
            self._condition.note(job.error, job.weight)
            if job.future.done():
                continue
            if isinstance(job.error, StopIteration):
                # A future does not accept StopIteration, and the jobs behind this one need their
                # results, too.
                job.future.set_exception(RuntimeError("a write raised StopIteration"))
            elif job.error is not None:
                job.future.set_exception(job.error)
            else:
                job.future.set_result(job.result)
