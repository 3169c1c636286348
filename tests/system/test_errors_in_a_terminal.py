"""Errors that new users meet: their messages in a real terminal, and their exit codes."""

import contextlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from isolating import isolate
from pty_process import INTERRUPT, PtyProcess
from waiting import wait_until

from hub.cli.console import exits

# A user id without a name, a home directory and rights.
NOBODY = 54_321
# The imports come first, because this user may not be able to read the modules.
AS_NOBODY = (
    f"import os, sys; from hub.cli import main; command = main.get_command(None, sys.argv[1]);"
    f"from hub.cli.service.configuration import Settings; Settings();"
    f"os.setgid({NOBODY}); os.setuid({NOBODY}); main(prog_name='tocsin')"
)
Tocsin = Callable[..., PtyProcess]


@contextlib.contextmanager
def terminals() -> Iterator[Tocsin]:
    """Yield a function that runs a program in a terminal."""
    made: list[PtyProcess] = []

    def call(*words: str, nobody: bool = False, **environment: str) -> PtyProcess:
        env = {name: value for name, value in os.environ.items() if not (nobody and name == "HOME")}
        made.append(PtyProcess(words, env=env | environment))
        return made[-1]

    yield call
    for process in made:
        process.close()


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tocsin]:
    """Runs a program in a terminal."""
    isolate(tmp_path, monkeypatch)
    with terminals() as call:
        yield call


def command(terminal: Tocsin) -> Tocsin:
    """Return a function that runs a command in a terminal."""

    def call(*words: str, nobody: bool = False, **environment: str) -> PtyProcess:
        program = ["-c", AS_NOBODY] if nobody else ["-m", "hub.cli"]
        return terminal(sys.executable, *program, *words, nobody=nobody, **environment)

    return call


@pytest.fixture
def tocsin(terminal: Tocsin) -> Tocsin:
    """Runs a command in a terminal."""
    return command(terminal)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an installation with a user and a repository."""
    folder = tmp_path_factory.mktemp("original")
    with pytest.MonkeyPatch.context() as patch, terminals() as terminal:
        isolate(folder, patch)
        tocsin = command(terminal)
        daemon = tocsin("serve", "--port", "0")
        daemon.until("at work: http")
        daemon.type(INTERRUPT)
        assert daemon.ended() == exits.DONE
        for words in (["user", "add", "ada"], ["repo", "add", "ada/bell"]):
            assert tocsin(*words).ended() == exits.DONE
    return folder


@pytest.fixture
def installation(original: Path, tmp_path: Path) -> None:
    """An installation with a user and a repository, in the working directory."""
    shutil.copytree(original, tmp_path, dirs_exist_ok=True)


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
    ("load none.yaml", exits.MISSING, "cannot read none.yaml: No such file or directory"),
    ("restore none.db", exits.MISSING, "there is no backup none.db"),
]
SCOPES = "'nonsense' is no scope; the scopes are admin:business, admin:enterprise, "
INSTALLED = [
    ("token create ada --scope nonsense", exits.USAGE, SCOPES),
    ("token add ada --scope nonsense", exits.USAGE, "repo_deployment"),
    ("user add ada/x", exits.USAGE, "'ada/x' is not a valid login"),
    ("repo add ada", exits.USAGE, "'ada' is not OWNER/NAME"),
    ("hook show 99", exits.MISSING, "there is no hook 99: `tocsin hook list` lists"),
    ("delivery list --hook 99", exits.MISSING, "hook 99"),
    ("hook disable 99", exits.MISSING, "hook 99"),
    ("hook show 99999999999999999999", exits.USAGE, "is larger than any id"),
    ("backup none/copy.db", exits.MISSING, "none/copy.db cannot be created: No such file"),
    ("load wrong.yaml", exits.USAGE, "wrong.yaml:2: user: there is no such key; did you mean"),
    ("sql .nonsense", exits.USAGE, ".tables, .schema"),
    ("token create eve", exits.MISSING, "'eve'"),
    ("user add ada", exits.CONFLICT, "already"),
    ("delivery 99", exits.MISSING, "99"),
    ("subscribe ada/bell http://127.0.0.1:9000/", exits.USAGE, "127.0.0.1 is refused"),
    ("listen --subscribe ada/none", exits.USAGE, "127.0.0.1 is refused"),
]


@pytest.mark.parametrize(("words", "code", "said"), FRESH, ids=[one for one, _, _ in FRESH])
def test_before_there_is_an_installation(tocsin, tmp_path, words, code, said):
    assert said in lines(tocsin(*words.split()), code)[-1]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("installation")
def test_errors_in_an_installation_are_one_line(tocsin, tmp_path):
    (tmp_path / "wrong.yaml").write_text("repositories: []\nuser: []\n")
    for words, code, said in INSTALLED:
        assert said in lines(tocsin(*words.split()), code)[-1], words


@pytest.mark.usefixtures("installation")
def test_a_port_in_use_and_a_second_worker_are_refused(tocsin, tmp_path):
    first = tocsin("serve", "--port", "0")
    port = first.until(r"at work: http://127\.0\.0\.1:(\d+)$")[1]
    other = {"TOCSIN_DATA_DIR": str(tmp_path / "other")}
    for words in (["serve", "--port", port], ["listen", "--port", port]):
        said = lines(tocsin(*words, **other), exits.CONFLICT)[-1]
        assert f"cannot listen on 127.0.0.1 port {port}: Address already in use: stop" in said
    said = lines(tocsin("serve", "--port", "0"), exits.CONFLICT)[-1]
    assert "another worker is running" in said
    first.type(INTERRUPT)
    assert first.ended() == exits.DONE


@pytest.mark.usefixtures("installation")
def test_sql_describes_the_database(tocsin):
    assert "hook" in lines(tocsin("sql", ".tables"), exits.DONE)
    assert "CREATE TABLE" in lines(tocsin("sql", ".schema token"), exits.DONE)[0]
    assert "x'00ff'" in lines(tocsin("sql", "SELECT x'00ff' AS blob"), exits.DONE)[-1]


@pytest.mark.usefixtures("installation")
def test_ctrl_c_ends_a_statement_without_an_end(tocsin):
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT count(*) FROM c"
    process = tocsin("sql", endless, PYTHONFAULTHANDLER="1")
    # The database is open read-only only while the statement runs.
    wait_until(lambda: reads(process, "tocsin.db"), "the statement")
    process.type(INTERRUPT)
    assert lines(process, exits.FAILED)[-1] == "Aborted!"


def reads(process: PtyProcess, name: str) -> bool:
    """Return whether a program has opened the file of this name read-only."""
    folder = Path(f"/proc/{process.popen.pid}")
    modes = set()
    for one in (folder / "fd").iterdir():
        with contextlib.suppress(OSError):
            if one.readlink().name == name:
                flags = re.search(r"flags:\s+(\d+)", (folder / "fdinfo" / one.name).read_text())
                assert flags is not None
                modes.add(int(flags[1], 8) & os.O_ACCMODE)
    return os.O_RDONLY in modes


@pytest.mark.usefixtures("installation")
def test_the_daemons_settings_count_and_not_the_shells(tocsin):
    receiver = tocsin("listen", "--port", "0")
    url = receiver.until(r"listening on (http://127\.0\.0\.1:\d+/)")[1]
    daemon = tocsin("serve", "--port", "0", TOCSIN_ALLOW_NETWORKS="127.0.0.0/8")
    daemon.until("at work: http")
    assert tocsin("subscribe", "ada/bell", url).ended() == exits.DONE
    receiver.until("^ping ")
    doctor = tocsin("doctor")
    assert doctor.ended() == exits.FAILED, "doctor fails because there is no backup"
    said = 'the daemon runs with allow_networks = ["127.0.0.0/8"], and this shell has []'
    assert said in doctor.seen
    assert re.search(r"good +callbacks +looked up 1 host of 1 hook", doctor.seen)
    assert "disable" not in doctor.seen
    daemon.type(INTERRUPT)
    assert daemon.ended() == exits.DONE


@pytest.mark.usefixtures("installation")
def test_a_missing_driver_is_reported(tocsin, tmp_path):
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "psycopg.py").write_text("raise ImportError('no psycopg here')")
    for words in (["migrate", "--to"], ["status", "--store"]):
        said = lines(
            tocsin(*words, "postgresql:///none", PYTHONPATH=str(tmp_path / "none")), exits.FIRST
        )
        assert "pip install 'psycopg" in said[-1]


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare"
)
@pytest.mark.usefixtures("installation")
def test_a_full_disk_is_reported(terminal, tmp_path):
    script = """
    mkdir disk; mount -t tmpfs -o size=8M tmpfs disk; cp tocsin.db secret.key disk
    dd if=/dev/zero of=disk/fill bs=1k 2> /dev/null || true
    TOCSIN_DATA_DIR=disk exec "$0" -m hub.cli user add bob
    """
    said = lines(terminal("unshare", "--mount", "sh", "-uc", script, sys.executable), exits.LATER)
    assert said == ["Error: cannot open the database disk/tocsin.db: the disk is full"]


NAMED = {
    "the working directory": ([], {"TOCSIN_DATA_DIR": ""}),
    "an option": (["--data-dir", "{}"], {}),
    "the environment": ([], {"TOCSIN_DATA_DIR": "{}"}),
    "a store": (["--store", "sqlite:///{}/tocsin.db"], {}),
    "a settings file": (["--config", "{}.toml"], {"TOCSIN_DATA_DIR": ""}),
}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("named", NAMED)
@pytest.mark.usefixtures("installation")
def test_an_unreadable_directory_is_reported(tocsin, tmp_path, monkeypatch, named):
    with TemporaryDirectory() as open_to_all:
        folder = Path(open_to_all) / "tocsin-data"
        folder.mkdir(mode=0o700)
        for name in ("tocsin.db", "secret.key"):
            (tmp_path / name).rename(folder / name)
        Path(open_to_all).chmod(0o755)
        folder.with_name("tocsin-data.toml").write_text(f"data_dir = '{folder}'")
        words, environment = NAMED[named]
        monkeypatch.chdir(open_to_all)
        given = {key: value.format(folder) for key, value in environment.items()}
        command = ["status", *(word.format(folder) for word in words)]
        said = lines(tocsin(*command, nobody=True, **given), exits.FIRST)
    (line,) = said
    assert "Permission denied: run the command as root (sudo)" in line


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_completion_without_a_home_is_refused(tocsin):
    said = lines(tocsin("completion", "bash", "--install", nobody=True), exits.FIRST)
    assert said == ["Error: there is no home directory: set HOME or XDG_DATA_HOME"]


def test_ctrl_c_ends_a_command_that_stays(tocsin):
    receiver = tocsin("listen", "--port", "0")
    receiver.until("listening on")
    receiver.type(INTERRUPT)
    assert lines(receiver, exits.DONE)
