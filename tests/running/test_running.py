"""Runs of pytest with the plugins of this suite: progress, workers, crashes and hangs. A run that
is ended leaves no process behind.
"""

import getpass
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import process_watcher
import pytest
from waiting import PATIENCE, wait_until

TESTS = Path(__file__).parents[1]
# A test that starts a PostgreSQL server and a daemon, and does not end by itself.
HANGING = """
import subprocess, sys, time
from pathlib import Path
from postgres_databases import server

def test_hanging(tmp_path):
    assert server().startswith("postgresql://")
    command = [sys.executable, "-m", "hub.cli", "serve", "--port", "0"]
    daemon = subprocess.Popen([*command, "--data-dir", tmp_path], stdout=subprocess.PIPE)
    daemon.stdout.readline()
    Path({reached!r}).touch()
    time.sleep({patience})
"""
FAILING = """
import pytest

@pytest.mark.parametrize("number", range(100))
def test_number(number):
    assert number != 30

@pytest.fixture
def broken():
    raise ValueError

def test_setup(broken):
    pass
"""

CRASHING = """
import os
import pytest

@pytest.mark.parametrize("number", range(20))
def test_number(number):
    if number == 7:
        os._exit(3)
"""
QUICK = """
import pytest

@pytest.mark.parametrize("number", range(20))
def test_quick(number):
    pass
"""
# With each report, all workers but one pause, or all go on. The last file has a test that crashes.
PAUSING = (
    CRASHING
    + """
from throttle import Throttle

def look(self):
    self.allowed = 1 if self.allowed > 1 else 4

Throttle.look = look
"""
)
SLEEPING = """
import time

def test_quick():
    pass

def test_sleeping():
    time.sleep({patience})
"""

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path, pytestconfig: pytest.Config) -> Iterator[Start]:
    """A function that starts pytest with this suite's settings on a file with this content."""
    running: list[subprocess.Popen[str]] = []
    folders = pytestconfig.getini("pythonpath")

    def call(content: str, *args: str) -> subprocess.Popen[str]:
        (tmp_path / "test_it.py").write_text(content)
        given = ["-c", TESTS.parent / "pyproject.toml", "--rootdir", TESTS.parent]
        given += ["--confcutdir", TESTS, "-p", "tests.conftest"]
        environment = os.environ | {"PYTHONPATH": ":".join(map(str, folders))}
        environment["PYTEST_DEBUG_TEMPROOT"] = str(tmp_path)
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *given, *args, tmp_path / "test_it.py"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        )  # fmt: skip
        running.append(process)
        return process

    yield call
    for process in running:
        process.kill()
        process.communicate()


def marked(process: subprocess.Popen[str]) -> set[int]:
    """The processes that a run has started, with all their children."""
    return process_watcher.left(
        f"{process_watcher.MARKS}={os.environ[process_watcher.MARKS]}{process.pid}."
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a folder")
def test_a_run_passes_beside_a_folder_that_it_cannot_remove(start: Start, tmp_path: Path) -> None:
    busy = tmp_path / f"pytest-of-{getpass.getuser()}" / "garbage-of-another-run" / "busy"
    busy.mkdir(parents=True)
    mounted = subprocess.run(["mount", "--bind", busy, busy], check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip("folders cannot be mounted on this machine")
    try:
        process = start("def test_files(tmp_path):\n    assert tmp_path.is_dir()\n")
        output, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, output
    finally:
        # pytest has given the folder above the mount another name.
        for folder in tmp_path.glob("pytest-of-*/garbage-*/busy"):
            subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("workers", [[], ["--workers", "1"]], ids=["alone", "with a worker"])
def test_a_run_that_is_ended_leaves_nothing_behind(
    start: Start, tmp_path: Path, workers: list[str], how: signal.Signals
) -> None:
    reached = tmp_path / "reached"
    process = start(HANGING.format(reached=str(reached), patience=PATIENCE), *workers)
    wait_until(lambda: reached.exists() or process.poll() is not None, "the test")
    assert process.poll() is None, process.communicate()
    servers = {
        pid: folder for pid in marked(process) if (folder := process_watcher.data_directory(pid))
    }
    assert servers
    assert len(marked(process)) > len(servers) + 1
    process.send_signal(how)
    process.wait(PATIENCE)
    wait_until(lambda: not marked(process), lambda: marked(process))
    wait_until(lambda: not any(folder.exists() for folder in servers.values()), "no folder")


def test_a_worker_that_is_killed_leaves_nothing_behind(start: Start, tmp_path: Path) -> None:
    reached = tmp_path / "reached"
    hanging = HANGING.format(reached=str(reached), patience=PATIENCE)
    process = start(hanging, "--workers", "1")
    wait_until(lambda: reached.exists() or process.poll() is not None, "the test")
    assert process.poll() is None, process.communicate()
    parents = dict(process_watcher.parents_of_all())
    (worker,) = (
        pid
        for pid, parent in parents.items()
        if parent == process.pid and not process_watcher.is_watcher(pid)
    )
    os.kill(worker, signal.SIGKILL)
    output, _ = process.communicate(timeout=PATIENCE)
    assert "crashed" in output
    wait_until(lambda: not marked(process), lambda: marked(process))


def test_a_test_that_crashes_is_named_and_the_others_run(start: Start) -> None:
    process = start(CRASHING, "--workers", "2")
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "::test_number[7] crashed: exit code 3" in output
    assert "1 failed, 19 passed" in output


def test_workers_that_pause_again_and_again_run_each_test_once(
    start: Start, tmp_path: Path
) -> None:
    others = [tmp_path / f"test_{name}.py" for name in "abcdef"]
    for other in others:
        other.write_text(QUICK)
    process = start(PAUSING, "--workers", "4", *map(str, others))
    output, _ = process.communicate(timeout=PATIENCE)
    assert "1 failed, 139 passed" in output, output
    assert "::test_number[7] crashed: exit code 3" in output


def test_after_enough_failures_no_worker_goes_on(start: Start) -> None:
    process = start(FAILING.replace("!= 30", "< 0"), "--workers", "3", "--maxfail", "2")
    output, _ = process.communicate(timeout=PATIENCE)
    assert "stopping after 2 failures" in output
    assert "\n2 failed" in output, output


def test_workers_do_not_share_a_folder_that_each_would_empty(start: Start, tmp_path: Path) -> None:
    process = start(FAILING, "--workers", "2", "--basetemp", str(tmp_path / "base"))
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == pytest.ExitCode.USAGE_ERROR, output


def test_a_test_that_hangs_is_ended_and_named(start: Start) -> None:
    process = start(SLEEPING.format(patience=PATIENCE), "-o", "hang_timeout=0.1")
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "Timeout (0:00:00.1" in output
    assert "in test_sleeping" in output


@pytest.mark.parametrize("workers", [[], ["--workers", "2"]], ids=["alone", "with workers"])
def test_failures_and_progress_are_reported_at_once(start: Start, workers: list[str]) -> None:
    output, _ = start(FAILING, *workers).communicate(timeout=PATIENCE)
    during, found, _ = output.partition("= FAILURES =")
    during = output.partition("= ERRORS =")[0] if "= ERRORS =" in during else during
    assert found, output
    lines = during.splitlines()
    assert any(line.startswith("FAILED ") and line.endswith("::test_number[30]") for line in lines)
    assert any(line.endswith("::test_setup (setup)") for line in lines)
    reported = [line for line in lines if " %: " in line]
    assert len(reported) == 20, output
    assert reported[-1] == "100 %: 99 passed, 2 failed, 0 skipped"
