"""Programs that are forked from the preload server are processes like others."""

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from isolating import isolate
from waiting import PATIENCE

from tests.preload.client import write_command
from tests.preload.popen import CAN_FORK, preload_server

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="only Linux gives orphans to others")
COMMAND = [sys.executable, "-m", "hub.cli"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return isolate(tmp_path, monkeypatch)


def is_forked(pid: int) -> bool:
    """Return whether a process has the command line of the preload server, as its forks have."""
    return preload_server().name.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()


@contextlib.contextmanager
def started(*words: str, **how):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*COMMAND, *words], **streams, **how) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def serving(**how):
    with started("serve", "--port", "0", **how) as process:
        assert "at work" in process.stdout.readline()
        yield process


def run(*words: str, **how):
    return subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, timeout=PATIENCE, **how
    )


def test_a_command_has_its_streams_and_its_exit_code():
    done = run("nonsense")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "No such command 'nonsense'" in done.stderr
    loaded = run("load", "--init", "-", input="users: [{login: ada}]")
    assert (loaded.returncode, loaded.stderr) == (0, "")
    assert "ada" in loaded.stdout


def test_a_command_has_its_environment_and_its_working_directory(tmp_path):
    (tmp_path / "folder").mkdir()
    given = {**os.environ, "TOCSIN_DATA_DIR": "here", "TZ": "Asia/Kolkata"}
    done = run("user", "add", "ada", cwd=tmp_path / "folder", env=given)
    assert done.returncode == 4
    assert (
        run("load", "--init", "-", input="{}", cwd=tmp_path / "folder", env=given).returncode == 0
    )
    assert (tmp_path / "folder" / "here" / "tocsin.db").exists()


def test_a_daemon_is_a_child_that_signals_end():
    with serving() as process:
        assert is_forked(process.pid)
        stat = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8")
        assert int(stat.rpartition(")")[2].split()[1]) == os.getpid()
        process.terminate()
        assert process.wait(PATIENCE) == 0
    with serving() as process:
        process.kill()
        assert process.wait(PATIENCE) == -signal.SIGKILL


async def test_asyncio_starts_and_awaits_it():
    process = await asyncio.create_subprocess_exec(
        *COMMAND, "serve", "--port", "0", stdout=asyncio.subprocess.PIPE
    )
    assert b"at work" in await process.stdout.readline()
    assert is_forked(process.pid)
    process.send_signal(signal.SIGINT)
    assert await process.wait() == 0


@pytest.mark.parametrize("variable", ["PYTHONWARNINGS", "LC_ALL"])
def test_a_variable_that_python_reads_needs_a_full_start(variable):
    with serving(env={**os.environ, variable: "C"}) as process:
        assert not is_forked(process.pid)


def test_a_limit_of_the_test_process_needs_a_full_start():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
    try:
        with serving() as process:
            assert not is_forked(process.pid)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_other_programs_start_as_ever():
    done = subprocess.run(
        [sys.executable, "-c", "import sys; print('hub' in sys.modules)"], capture_output=True
    )
    assert done.stdout == b"False\n"


@pytest.fixture
def tocsin(tmp_path: Path) -> str:
    """The path of the command for shells."""
    (tmp_path / "programs").mkdir()
    return str(write_command(tmp_path / "programs") / "tocsin")


def test_a_shell_gets_output_and_exit_code(tocsin):
    done = subprocess.run(
        ["sh", "-c", f"{tocsin} nonsense; echo $?"], capture_output=True, text=True
    )
    assert done.stdout == "2\n"
    assert "nonsense" in done.stderr


def forked_by(tocsin: str):
    return subprocess.Popen([tocsin, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)


def test_a_shells_signals_reach_the_program(tocsin):
    with forked_by(tocsin) as process:
        assert "at work" in process.stdout.readline()
        process.terminate()
        assert process.wait(PATIENCE) == 0


def test_a_shells_program_ends_when_its_command_is_killed(tocsin):
    with forked_by(tocsin) as process:
        assert "at work" in process.stdout.readline()
        process.kill()
        # The pipe ends only when the program has ended, because it has a copy of the pipe.
        assert process.stdout.read() == ""
