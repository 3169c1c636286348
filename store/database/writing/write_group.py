"""A group of write jobs, and how it runs in one transaction.

Callers of the same batch function share its statements: their jobs are one run. Each run has its
own savepoint, so one failure does not undo the others.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from store.database.connection import Connection, Session
from store.errors import Damaged, Locked, Unavailable

if TYPE_CHECKING:
    import asyncio

Call = Callable[[], None]


@dataclass(slots=True, eq=False)
class WriteJob:
    """A function to run in a write transaction, and the future of its result."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    future: "asyncio.Future[Any]"
    batched: bool = False
    durable: bool = True
    weight: int = 0
    result: Any = None
    error: BaseException | None = None


@dataclass(slots=True)
class WriteGroup:
    """Jobs that are committed together, and the calls to make after the commit."""

    jobs: list[WriteJob]
    finished: list[Call] = field(default_factory=list)
    apart: list[list[WriteJob]] = field(default_factory=list)
    """The runs that another transaction blocked. Each gets a transaction of its own."""

    failure: BaseException | None = None
    """The reason why nothing was committed."""

    def runs(self) -> list[list[WriteJob]]:
        """Group the jobs into runs, in order. A batch function's jobs join its first job's run.

        No caller can notice: a caller that awaits one job before it submits the next has them in
        different groups.
        """
        runs: list[list[WriteJob]] = []
        batches: dict[Callable[..., Any], list[WriteJob]] = {}
        for job in self.jobs:
            if job.batched and job.function in batches:
                batches[job.function].append(job)
                continue
            run = [job]
            runs.append(run)
            if job.batched:
                batches[job.function] = run
        return runs

    def execute(self, session: Session) -> None:
        """Execute the runs, each in a savepoint. Those that others block go to `apart`.

        They may not wait, because others may wait for this group. Raises Locked if a group that
        cannot be divided is blocked.
        """
        self.apart = []
        for run in self.runs():
            self._execute(session, run)

    def _execute(self, session: Session, run: list[WriteJob]) -> None:
        """Run jobs in a savepoint. If the batch fails, run each of its items alone."""
        error = _attempt(session, run)
        if len(run) == 1 and error is not None and session.is_conflict(error):
            error = _attempt(session, run)
        if isinstance(error, Locked):
            if len(run) == len(self.jobs):
                raise error
            self.apart.append(run)
        elif error is not None and len(run) > 1:
            for job in run:
                self._execute(session, [job])
        elif error is not None:
            run[0].error = error

    def release_apart(self) -> list[list[WriteJob]]:
        """Remove the jobs of `apart` from the group, and return them."""
        apart, self.apart = self.apart, []
        if apart:
            gone = {job for run in apart for job in run}
            self.jobs = [job for job in self.jobs if job not in gone]
        return apart

    def divide(self) -> list[list[WriteJob]]:
        """Remove all jobs from the group, and return two halves of them, the small jobs first."""
        jobs, self.jobs = sorted(self.jobs, key=lambda job: job.weight), []
        middle = len(jobs) // 2
        return [jobs[:middle], jobs[middle:]]

    def fail(self, error: BaseException) -> None:
        """Let every job fail that has not failed by itself."""
        self.failure = error
        for job in self.jobs:
            job.error = job.error or error


def _attempt(session: Session, run: list[WriteJob]) -> Exception | None:
    """Run jobs in a savepoint. If that fails, undo it, and return the error."""
    session.savepoint()
    try:
        call(session.db, run)
    except Exception as error:
        if isinstance(error, (Unavailable, Damaged)) and not isinstance(error, Locked):
            raise
        session.undo()
        return error
    session.release()
    return None


def call(db: Connection, run: list[WriteJob]) -> None:
    """Call the function of a run, and keep the result or the error of each job."""
    if not run[0].batched:
        run[0].result = run[0].function(db, *run[0].arguments)
        return
    results = run[0].function(db, [job.arguments[0] for job in run])
    for job, result in zip(run, results, strict=True):
        job.error = result if isinstance(result, Exception) else None
        job.result = result
