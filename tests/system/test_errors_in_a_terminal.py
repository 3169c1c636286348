"""The errors of the first hour, as a person sees them: in a terminal, with their exit codes."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from isolating import isolate
from pty_process import INTERRUPT, PtyProcess

from hub.cli.console import exits

# A user without a name, a home and rights.
NOBODY = 54_321
# Commands are imported before the process becomes somebody who may not read the sources.
AS_NOBODY = (
    f"import os, sys; from hub.cli import main; command = main.get_command(None, sys.argv[1]);"
    f"os.setgid({NOBODY}); os.setuid({NOBODY}); main(prog_name='tocsin')"
)
Tocsin = Callable[..., PtyProcess]


@pytest.fixture
def tocsin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tocsin]:
    """Runs a command in a terminal."""
    isolate(tmp_path, monkeypatch)
    made: list[PtyProcess] = []

    def call(*words: str, nobody: bool = False, **environment: str) -> PtyProcess:
        program = ["-c", AS_NOBODY] if nobody else ["-m", "hub.cli"]
        env = {name: value for name, value in os.environ.items() if not (nobody and name == "HOME")}
        made.append(PtyProcess([sys.executable, *program, *words], env=env | environment))
        return made[-1]

    yield call
    for process in made:
        process.close()


@pytest.fixture
def installation(tocsin: Tocsin) -> None:
    """An installation with a user and a repository."""
    daemon = tocsin("serve", "--port", "0")
    daemon.until("at work: http")
    daemon.type(INTERRUPT)
    assert daemon.ended() == exits.DONE
    for words in (["user", "add", "ada"], ["repo", "add", "ada/bell"]):
        assert tocsin(*words).ended() == exits.DONE


def lines(process: PtyProcess, code: int) -> list[str]:
    """The lines that a command showed before it ended with this code."""
    assert process.ended() == code, process.seen
    assert "Traceback" not in process.seen
    assert "Errno" not in process.seen
    return process.seen.splitlines()


FRESH = [
    ("statsu", exits.USAGE, "Error: No such command 'statsu'. Did you mean 'status'?"),
    ("quixotic", exits.USAGE, "Error: No such command 'quixotic'. `tocsin --help` lists them."),
    ("listen --port 80000", exits.USAGE, "80000"),
    ("user add ada", exits.MISSING, "`tocsin serve` makes one"),
    ("status", exits.MISSING, "`tocsin serve` makes one"),
    ("settings --config none.toml", exits.MISSING, "cannot read the settings file none.toml"),
]
INSTALLED = [
    ("token create ada --scope nonsense", exits.USAGE, "'nonsense'"),
    ("token create eve", exits.MISSING, "'eve'"),
    ("user add ada", exits.CONFLICT, "already"),
    ("delivery 99", exits.MISSING, "99"),
    ("subscribe ada/bell http://127.0.0.1:9000/", exits.USAGE, "127.0.0.1 is refused"),
    ("listen --subscribe ada/none", exits.USAGE, "127.0.0.1 is refused"),
]


@pytest.mark.parametrize(("words", "code", "said"), FRESH, ids=[one for one, _, _ in FRESH])
def test_before_there_is_an_installation(tocsin, words, code, said):
    assert said in lines(tocsin(*words.split()), code)[-1]


@pytest.mark.usefixtures("installation")
def test_in_an_installation(tocsin):
    for words, code, said in INSTALLED:
        assert said in lines(tocsin(*words.split()), code)[-1], words


@pytest.mark.usefixtures("installation")
def test_a_port_in_use_and_a_second_worker(tocsin, tmp_path):
    first = tocsin("serve", "--port", "0")
    port = first.until(r"at work: http://127\.0\.0\.1:(\d+)$")[1]
    other = {"TOCSIN_DATA_DIR": str(tmp_path / "other")}
    for words in (["serve", "--port", port], ["listen", "--port", port]):
        said = lines(tocsin(*words, **other), exits.CONFLICT)[-1]
        assert said.endswith(f"cannot listen on 127.0.0.1 port {port}: Address already in use")
    said = lines(tocsin("serve", "--port", "0"), exits.CONFLICT)[-1]
    assert "another worker is running" in said
    first.type(INTERRUPT)
    assert first.ended() == exits.DONE


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.usefixtures("installation")
def test_a_directory_that_may_not_be_read(tocsin, tmp_path):
    tmp_path.chmod(0o700)
    said = lines(tocsin("status", nobody=True), exits.FIRST)
    assert "Permission denied: run the command as root (sudo)" in said[-1]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_completion_without_a_home(tocsin):
    said = lines(tocsin("completion", "bash", "--install", nobody=True), exits.FIRST)
    assert said == ["Error: there is no home directory: set HOME or XDG_DATA_HOME"]


def test_ctrl_c_ends_a_command_that_stays(tocsin):
    receiver = tocsin("listen", "--port", "0")
    receiver.until("listening on")
    receiver.type(INTERRUPT)
    assert lines(receiver, exits.DONE)
