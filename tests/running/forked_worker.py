"""A process that runs tests which another one has collected."""

import atexit
import ctypes
import os
import signal
import sys
import traceback
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import process_watcher
import pytest

# The option of prctl that sends this process a signal when its parent ends.
PR_SET_PDEATHSIG = 1
# The process that reports has these plugins. In a worker, they would write the same again.
REPORTERS = ("terminalreporter", "progress")


def run_worker(session: pytest.Session, connection: Connection) -> NoReturn:
    """Run the tests whose places come through the connection. Then end this process."""
    code = 1
    try:
        _end_with_parent()
        process_watcher.watch()
        Worker(session, connection).run()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        # These functions stop the servers that this process has started, and remove its folders.
        atexit._run_exitfuncs()
        sys.stderr.flush()
        os._exit(code)


def _end_with_parent() -> None:
    """Have the kernel kill this process when its parent ends, even if the parent was killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Worker:
    """A plugin that runs tests and sends their reports, one list for each test."""

    def __init__(self, session: pytest.Session, connection: Connection) -> None:
        self._session = session
        self._config = session.config
        self._connection = connection
        self._reports: list[dict[str, Any]] = []

    def run(self) -> None:
        self._prepare()
        item = self._next()
        while item is not None:
            following = self._next()
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            self._connection.send(self._reports)
            self._reports = []
            item = following
        status = pytest.ExitCode.TESTS_FAILED if self._session.testsfailed else pytest.ExitCode.OK
        self._config.hook.pytest_sessionfinish(session=self._session, exitstatus=status)
        self._config.hook.pytest_unconfigure(config=self._config)

    def _prepare(self) -> None:
        plugins = self._config.pluginmanager
        for name in REPORTERS:
            plugins.unregister(name=name)
        plugins.register(self)
        # All workers inherit the same files for captured output, with one position for all.
        capture = plugins.getplugin("capturemanager")
        if capture is not None and capture.is_globally_capturing():
            capture.stop_global_capturing()
            capture.start_global_capturing()
            capture.suspend_global_capture()

    def _next(self) -> pytest.Item | None:
        place: int | None = self._connection.recv()
        return None if place is None else self._session.items[place]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(
            self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        )
