"""Prints progress and failures during a run, so that its log shows both before the run ends."""

from collections import Counter

import pytest

# Progress is printed each time that this share of all tests is done, in percent.
EVERY = 5


class Progress:
    """A plugin of the process that reports."""

    def __init__(self, config: pytest.Config) -> None:
        self._writer = config.get_terminal_writer()
        self._session: pytest.Session | None = None
        self._outcomes: Counter[str] = Counter()
        self._done = self._said = 0

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            when = "" if report.when == "call" else f" ({report.when})"
            self._say(f"FAILED {report.nodeid}{when}")
        if report.when == "call" or not report.passed:
            self._outcomes[report.outcome] += 1
        if report.when == "teardown":
            self._done += 1
            self._print()

    def _print(self) -> None:
        assert self._session is not None
        share = 100 * self._done // max(self._session.testscollected, 1)
        if share // EVERY > self._said // EVERY:
            self._said = share
            counts = ", ".join(
                f"{self._outcomes[name]:,} {name}" for name in ("passed", "failed", "skipped")
            )
            self._say(f"{share} %: {counts}")

    def _say(self, text: str) -> None:
        if self._writer.width_of_current_line:
            self._writer.line()
        self._writer.line(text)
        self._writer.flush()
