"""A run of tests: what it says while it goes on, and what is left of it when it is ended."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import process_watcher
import pytest
from waiting import PATIENCE, wait_until

HERE = Path(__file__).parent
# A test with a server and a daemon, which goes on until it is ended.
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

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts pytest on a file with this content, as this suite is run."""
    running: list[subprocess.Popen[str]] = []

    def call(content: str, *args: str) -> subprocess.Popen[str]:
        (tmp_path / "test_it.py").write_text(content)
        given = ["-c", HERE.parent / "pyproject.toml", "--rootdir", HERE.parent]
        given += ["--confcutdir", HERE, "-p", "conftest", "--basetemp", tmp_path / "base"]
        environment = os.environ | {"PYTHONPATH": f"{HERE}:{HERE.parent}"}
        # What the run around this one says of itself is none of its business.
        for name in [name for name in environment if name.startswith("PYTEST_XDIST")]:
            del environment[name]
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
    """What a run has started, and they."""
    return process_watcher.left(
        f"{process_watcher.MARKS}={os.environ[process_watcher.MARKS]}{process.pid}."
    )


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "with a worker"])
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
    process = start(
        HANGING.format(reached=str(reached), patience=PATIENCE),
        "-n", "1", "--max-worker-restart", "0",
    )  # fmt: skip
    wait_until(lambda: reached.exists() or process.poll() is not None, "the test")
    assert process.poll() is None, process.communicate()
    parents = dict(process_watcher.parents_of_all())
    (worker,) = (pid for pid in marked(process) if parents[pid] == process.pid)
    os.kill(worker, signal.SIGKILL)
    output, _ = process.communicate(timeout=PATIENCE)
    assert "crashed" in output
    wait_until(lambda: not marked(process), lambda: marked(process))


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "with workers"])
def test_what_fails_is_named_at_once_and_progress_is_told(start: Start, workers: list[str]) -> None:
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
