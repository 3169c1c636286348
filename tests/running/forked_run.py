"""A run of tests in several processes, which are forked once all tests are collected.

Collecting takes as long as a thousand tests, and pytest-xdist does it in each of its processes.
"""

import os
import signal
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import pytest
from forked_worker import run_worker
from throttle import INTERVAL, Throttle

# The number of tests that wait in a worker behind the running one. pytest needs the next test when
# it runs one, because it keeps the fixtures that both share.
AHEAD = 2


@dataclass(eq=False)
class WorkerProcess:
    """A forked process, and the tests that it has."""

    pid: int
    connection: Connection
    sent: deque[int] = field(default_factory=deque)
    """The places of tests in the list of items. The first test runs."""
    block: deque[int] = field(default_factory=deque)
    """The places of the tests that the worker gets next."""
    finishing: bool = False
    """Whether no test is left for the worker."""


def block_of(item: pytest.Item) -> str:
    """Return the package of a test. If it is in none, return its file."""
    package = item.getparent(pytest.Package)
    return item.nodeid.partition("::")[0] if package is None else package.nodeid


class Blocks:
    """The tests that no worker has yet, in blocks of one file or of one package each.

    Fixtures that tests of a block share are made only once if one worker runs them all.
    """

    def __init__(self, items: Sequence[pytest.Item]) -> None:
        blocks = groupby(range(len(items)), lambda place: block_of(items[place]))
        self._left = deque(deque(places) for _, places in blocks)

    def take(self, others: Iterable[deque[int]]) -> deque[int]:
        """Return the next block. If none is left, take half of the largest of the other blocks."""
        if self._left:
            return self._left.popleft()
        largest = max(others, key=len, default=deque())
        half = [largest.pop() for _ in range((len(largest) + 1) // 2)]
        return deque(reversed(half))

    def put_back(self, places: Iterable[int]) -> None:
        block = deque(places)
        if block:
            self._left.appendleft(block)

    def __bool__(self) -> bool:
        return bool(self._left)


class ForkedRun:
    """A plugin that runs the tests in as many processes as the throttle allows."""

    def __init__(self, throttle: Throttle) -> None:
        self._throttle = throttle
        self._workers: dict[Connection, WorkerProcess] = {}
        self._paused: deque[WorkerProcess] = deque()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or session.config.option.collectonly:
            # pytest's own loop says why nothing runs.
            return None
        if session.config.option.basetemp is not None:
            raise pytest.UsageError("--basetemp is one folder, and each worker empties its own")
        self._session = session
        self._blocks = Blocks(session.items)
        self._left = len(session.items)
        try:
            self._run()
        finally:
            for worker in self._workers.values():
                os.kill(worker.pid, signal.SIGKILL)
        return True

    def _run(self) -> None:
        while self._workers or self._left:
            self._throttle.look()
            self._fill()
            for connection in wait(list(self._workers), INTERVAL):
                assert isinstance(connection, Connection)
                self._receive(self._workers[connection])

    def _fill(self) -> None:
        """Let paused workers go on, or start others, up to the number that may run."""
        while self._paused and (self._may_run() or not self._blocks):
            self._feed(self._paused.popleft())
        while self._may_run() and (
            self._blocks or any(one.block for one in self._workers.values())
        ):
            self._start()

    def _may_run(self, more: int = 1) -> bool:
        return len(self._workers) - len(self._paused) + more <= self._throttle.allowed

    def _start(self) -> None:
        ours, theirs = Pipe()
        pid = os.fork()
        if not pid:
            for connection in (ours, *self._workers):
                connection.close()
            run_worker(self._session, theirs)
        theirs.close()
        self._workers[ours] = worker = WorkerProcess(pid, ours)
        self._feed(worker)

    def _feed(self, worker: WorkerProcess) -> None:
        while not worker.finishing and len(worker.sent) <= AHEAD:
            if not worker.block:
                worker.block = self._blocks.take(one.block for one in self._workers.values())
            place = worker.block.popleft() if worker.block else None
            worker.finishing = place is None
            if place is not None:
                worker.sent.append(place)
            try:
                worker.connection.send(place)
            except OSError:
                # The worker has crashed. `_receive` notices the end of the connection.
                return

    def _receive(self, worker: WorkerProcess) -> None:
        try:
            reports: list[dict[str, Any]] = worker.connection.recv()
        except (EOFError, OSError):
            self._end(worker)
            return
        config = self._session.config
        self._report(
            self._session.items[worker.sent.popleft()],
            [
                config.hook.pytest_report_from_serializable(config=config, data=data)
                for data in reports
            ],
        )
        if worker in self._paused:
            # It runs the tests that it still has.
            return
        if self._blocks and not self._may_run(0):
            self._paused.append(worker)
        else:
            self._feed(worker)

    def _report(self, item: pytest.Item, reports: Iterable[pytest.TestReport]) -> None:
        self._left -= 1
        told = {"nodeid": item.nodeid, "location": item.location}
        item.ihook.pytest_runtest_logstart(**told)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(**told)
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    def _end(self, worker: WorkerProcess) -> None:
        """Collect a worker's exit code. If it has crashed, report its running test as failed, and
        leave its other tests to other workers.
        """
        del self._workers[worker.connection]
        if worker in self._paused:
            self._paused.remove(worker)
        worker.connection.close()
        _, status = os.waitpid(worker.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        running = worker.sent.popleft() if worker.sent else None
        self._blocks.put_back([*worker.sent, *worker.block])
        if running is not None:
            self._report(self._session.items[running], self._crashed(running, code))
        elif code:
            raise self._session.Failed(f"a worker ended with {code}")

    def _crashed(self, place: int, code: int) -> list[pytest.TestReport]:
        item = self._session.items[place]
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return [
            pytest.TestReport(
                item.nodeid,
                item.location,
                keywords={},
                outcome="failed" if when == "call" else "passed",
                longrepr=f"the process of {item.nodeid} crashed: {how}" if when == "call" else None,
                when=when,
            )
            for when in ("call", "teardown")
        ]
