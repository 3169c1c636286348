"""Fixtures for tests of the command line: a data directory for each test, stores, and commands."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_process import Process
from click.testing import CliRunner, Result
from engines import ENGINES, OWN_FILE, engine_url, open_furnished, prepare_database
from installation import seed
from isolating import isolate
from service_manager import Manager

from hub.cli import main
from store import Store

Run = Callable[..., Result]
Listed = Callable[..., list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create an installation in the working directory, isolated from the machine's settings."""
    prepare_database("sqlite", tmp_path)
    return isolate(tmp_path, monkeypatch)


@pytest.fixture
def fresh(directory: Path) -> Path:
    """The same directory without an installation."""
    for path in directory.iterdir():
        path.unlink()
    return directory


@pytest.fixture
def run() -> Run:
    """Return a function that runs a command line and checks its exit code."""

    def call(*args: object, code: int = 0, stdin: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(main, [str(arg) for arg in args], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return call


@pytest.fixture
def listed(run: Run) -> Listed:
    """Return a function that runs a listing with `--json` and parses its output."""

    def call(*args: object) -> Any:
        return json.loads(run(*args, "--json").stdout)

    return call


@pytest.fixture(params=ENGINES)
def url(
    request: pytest.FixtureRequest, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The URL of the store. A test with this fixture runs on each engine."""
    # Commands find the file in the directory, and processes that they start use it, too.
    engine = OWN_FILE if request.param == "sqlite" else request.param
    with engine_url(engine) as named:
        monkeypatch.setenv("TOCSIN_STORE", named)
        yield named


@pytest.fixture
def store(url: str, directory: Path) -> Iterator[Store]:
    """The store that the commands work on."""
    opened = open_furnished(url, directory)
    yield opened
    opened.shut()


@pytest.fixture
def hook_id(store: Store) -> int:
    """The id of the hook that `seed` makes."""
    return store.write_sync(seed)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    (tmp_path / "tocsin.toml").write_text("port = 0\n")
    made = Manager(tmp_path)
    yield made
    made.close()


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    running: list[Process] = []

    def call(*args: str, **environment: str) -> Process:
        running.append(Process(*args, **environment))
        return running[-1]

    yield call
    for process in running:
        process.popen.kill()
        process.popen.communicate()
