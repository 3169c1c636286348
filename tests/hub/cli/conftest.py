"""The command line on real stores, each test with a data directory of its own."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_process import Process
from click.testing import CliRunner, Result
from engines import ENGINES, engine_url, open_furnished, prepare_database
from installation import seed
from isolating import isolate
from service_manager import Manager

from hub.cli import main
from store import Store

Run = Callable[..., Result]
Listed = Callable[..., list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working and data directory of an installation; no setting comes from outside."""
    prepare_database("sqlite", tmp_path)
    return isolate(tmp_path, monkeypatch)


@pytest.fixture
def fresh(directory: Path) -> Path:
    """The same directory before there is an installation in it."""
    for path in directory.iterdir():
        path.unlink()
    return directory


@pytest.fixture
def run() -> Run:
    """Runs a command line and checks its exit code."""

    def call(*args: object, code: int = 0, stdin: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(main, [str(arg) for arg in args], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return call


@pytest.fixture
def listed(run: Run) -> Listed:
    """The rows of a listing, as JSON."""

    def call(*args: object) -> Any:
        return json.loads(run(*args, "--json").stdout)

    return call


@pytest.fixture(params=ENGINES)
def url(
    request: pytest.FixtureRequest, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The engine under test: the commands of whatever uses this work on each of them."""
    with engine_url(request.param) as named:
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
    return store.do(seed)


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
