"""The fixtures that all tests share: a store in a temporary folder, seed data, and the hub."""

import gc
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import before_fork
import pytest
import style_checks
from engines import ENGINES, engine_url, of_engine, open_furnished
from forked_run import ForkedRun
from hang_report import HangReport
from in_memory import use_memory
from process_watcher import watch
from progress_report import Progress
from spread import spread
from throttle import throttle_of

from tests.preload.popen import use_preloaded

# Fixtures import modules when they run, so that a test of a pure function waits only for the
# imports of that function.
if TYPE_CHECKING:
    import httpx
    from seed import Seed

    from hub.settings import HubSettings
    from store import Store
    from store.clock import MovableClock

# Most objects that exist when the tests are collected stay until the end. Garbage collections that
# check them again and again take a third of the time.
gc.disable()

# Without compiled modules, a daemon takes twice as long to start, and tests start hundreds of them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

use_memory()
use_preloaded()

# If a shell runs pytest in the background, pytest and all programs that it starts ignore SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The number of new objects that starts a garbage collection. A test makes thousands of objects, and
# most of them are freed before it is reached.
NEW_OBJECTS = 10_000
BASE = "https://forge.example/api/v3"
START = "2026-11-21T07:33:00Z"

# The beginnings of the ids of slow tests, the slowest first, each with the reason.
LONG = {
    "tests/system/test_schemathesis.py": "thousands of generated requests",
    "tests/torture/test_torture.py::test_each_fault_has_its_outcome[10,000": "50,000 deliveries",
    "tests/torture/test_torture.py::test_each_promise_is_kept[ledger]": "14 starts and kills",
    "tests/system/cluster/test_cluster.py": "six processes, 40,000 deliveries",
    "tests/docs/test_tutorial.py": "every command of the first hour",
    "tests/docs/test_how_to.py": "a daemon is started for each page",
    "tests/torture/": "a daemon is started and killed again and again",
    "tests/system/cluster/test_failures.py": "a database is stopped beside three processes",
    "tests/system/installation/test_systemd_real.py": "a machine boots",
    "tests/system/test_seeing.py": "daemons are started for each test",
    "tests/system/installation/test_installation.py": "packages are built and installed",
    "tests/system/": "daemons are started for each test",
    # Other tests add rows, and the checks of a page take longer with them.
    "tests/browser/test_pages.py": "each page is checked in a browser",
    "tests/browser/": "a browser and a daemon are started",
    "tests/clients/": "client libraries are installed and run against a daemon",
    "tests/hub/openapi/test_generated_clients.py": "clients in two languages are generated and run",
    "tests/docs/test_snippets.py::test_the_snippet_of_a_language_verifies_signatures[ts": (
        "a compiler is installed"
    ),
    "tests/docs/test_snippets.py::test_the_snippet_of_a_language_verifies_with_a_public_key[ts": (
        "a compiler is installed"
    ),
    "tests/hub/cli/operate/test_migrate.py": "daemons are started for each test",
    "tests/hub/cli/service/test_daemon.py": "daemons are started for each test",
    "tests/hub/cli/service/test_processes.py": "daemons are started for each test",
    "tests/hub/cli/service/test_tls.py": "daemons are started for each test",
    "tests/hub/cli/telemetry/test_running.py": "daemons are started for each test",
    "tests/hub/cli/traffic/test_follow_and_top.py": "daemons are started for each test",
    "tests/hub/cli/playground/test_listen.py": "a receiver is started for each test",
    "tests/hub/cli/playground/test_demo.py": "a hub, a worker and a receiver are started",
    "tests/hub/cli/playground/test_listen_subscribe.py": "daemons are started for each test",
    "tests/hub/cli/playground/test_listen_remote.py": "daemons are started for each test",
    "tests/hub/cli/test_recipes.py": "daemons are started for each test",
    "tests/running/test_running.py": "whole runs of pytest",
    "tests/hub/rest/test_every_operation.py": "each rule is tried with each operation",
    "tests/hub/rest/test_list_costs.py": "each list is filled with thousands of rows",
    "tests/hub/rest/test_statement_counts.py": "each list is filled with many rows",
    "tests/hub/rest/test_followed_urls.py": "each URL of each answer is requested",
    "tests/hub/rest/test_vocabulary.py": "the API is served in other words",
    "tests/hub/rest/test_each_change_is_published_once.py": "each operation is called",
    "tests/hub/rest/test_event_payloads.py": "each event is made",
    "tests/hub/cli/test_imports_of_commands.py": "a process is started for each command",
    "tests/hub/cli/console/test_failures_of_all_commands.py": "each failure with each command",
    "tests/hub/cli/console/test_exit_codes.py": "each failure with many commands",
    "tests/hub/api/apps/test_installation_rights.py": "thousands of combinations of rights",
    "tests/hub/api/apps/test_installation_operations.py": "each operation without its right",
    "tests/hub/openapi/test_openapi.py::test_the_document_is_valid": "the whole schema is checked",
    "tests/worker/imports/test_import_sv": "Subversion and git svn are started for each test",
    "tests/worker/imports/test_import_sub": "Subversion and git svn are started for each test",
    "tests/worker/imports/test_imports.py": "git is started for each test",
    "tests/worker/jobs/test_index_texts.py": "thousands of texts are indexed",
    "tests/worker/pull/test_pull_model.py": "many histories are played",
    "tests/store/ordering/test_order_model.py": "many histories are played",
    "tests/store/projection/test_issue_change_model.py": "many histories are played",
    "tests/hub/openapi/test_openapi.py::test_a_page_loads_nothing_from_outside[sqlite-/ref": (
        "each page of the reference is drawn"
    ),
    "tests/store/database/test_sqlite.py::TestTrouble::test_a_lock_of": "SQLite waits for a lock",
    "tests/store/database/test_postgres.py::TestPlans": "a table of 200,000 rows",
    "tests/store/database/test_distributed_postgres.py": "a PostgreSQL server is started",
    "tests/worker/imports/test_import_mercurial.py": "Mercurial is started for each test",
    "tests/store/pg_migration/": "databases are copied to a PostgreSQL server, which is started",
    "tests/store/database/test_postgres.py": "a PostgreSQL server is started",
    "tests/house/test_style.py::test_the_code_passes[types]": "mypy reads everything",
}

BEGINNINGS = tuple(LONG)
# These tests wait for most of their time. If they ran last, processors would be idle.
WAITING = "tests/worker/"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", default="0", help="the processes that run tests, or auto")
    parser.addoption(
        "--engine", default="sqlite", choices=[*ENGINES, "all"],
        help="the database of tests that run on each. Default: sqlite",
    )  # fmt: skip
    parser.addini("hang_timeout", "the seconds after which a test is ended", default="2400")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Start the process watcher, and register the plugins of this suite."""
    watch()
    config.pluginmanager.register(HangReport(float(config.getini("hang_timeout"))))
    if config.pluginmanager.has_plugin("terminalreporter"):
        config.pluginmanager.register(Progress(config), "progress")
    if _in_workers(config):
        config.pluginmanager.register(ForkedRun(throttle_of(config.getoption("workers"))))
        if _runs_all(config):
            style_checks.start()


def _runs_all(config: pytest.Config) -> bool:
    option = config.option
    chosen = option.keyword or option.markexpr or option.collectonly or option.engine == "postgres"
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not chosen


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Load the hypothesis profile before pytest imports a test module that uses hypothesis."""
    if isinstance(collector, pytest.Module) and "hypothesis" in collector.path.read_text("utf-8"):
        import examples  # noqa: F401 - it loads the profile


def _in_workers(config: pytest.Config) -> bool:
    return bool(config.getoption("workers") != "0")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests of the engine. Mark long tests as slow, and start them first.

    `-m "not slow"` leaves the slow ones out.
    """
    chosen = of_engine(items, config.getoption("engine"))
    config.hook.pytest_deselected(items=[*set(items).difference(chosen)])
    items[:] = chosen
    for item in items:
        reason = _why_slow(item, config.getoption("engine"))
        if reason is not None:
            item.add_marker(pytest.mark.slow(reason))
    if _in_workers(config):
        items[:] = spread(items, WAITING)
    # Sorting keeps the order of the others, so the tests of a file stay together.
    items.sort(key=_rank)


def _why_slow(item: pytest.Item, engine: str) -> str | None:
    """Return why a test is slow, or None. In a run on PostgreSQL, the server is there anyway."""
    place = _place(item)
    reason = None if place is None else [*LONG.values()][place]
    if reason is None and engine != "postgres" and before_fork.on_postgres(item):
        return "a PostgreSQL server is started"
    return reason


def _rank(item: pytest.Item) -> int:
    place = _place(item)
    return len(LONG) if place is None else place


def _place(item: pytest.Item) -> int | None:
    """Return the place of a test in LONG, or None."""
    name = item.nodeid
    if not name.startswith(BEGINNINGS):
        return None
    return next(at for at, one in enumerate(LONG) if name.startswith(one))


def pytest_collection_finish(session: pytest.Session) -> None:
    plugins = session.config.pluginmanager
    if "hypothesis" not in sys.modules:
        # At the end of the session, this plugin would import all of hypothesis, although no test
        # uses it.
        plugins.unregister(name="hypothesispytest")
    if "store.accounts.accounts" in sys.modules:
        import cheap_passwords  # noqa: F401 - it replaces the cost of a hash
    if "store.delivery.outbox" in sys.modules:
        import hub_client  # noqa: F401 - it checks every event against the contract
    if _in_workers(session.config):
        before_fork.prepare(session.items)
    # Most of the present objects stay until the end, and checking them again would take time.
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)
    gc.enable()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> "MovableClock":
    from store.clock import MovableClock, parse

    return MovableClock(parse(START))


@pytest.fixture(params=ENGINES)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield the URL of the engine under test. Every test that uses `store` runs on each engine."""
    with engine_url(request.param) as named:
        yield named


@pytest.fixture
def store(url: str, tmp_path: Path, clock: "MovableClock") -> "Iterator[Store]":
    opened = open_furnished(url, tmp_path, clock)
    yield opened
    opened.shut()


@pytest.fixture
def seed(store: "Store") -> "Seed":
    from seed import make

    return store.write_sync(make)


@pytest.fixture
def settings() -> "HubSettings":
    from hub.settings import HubSettings

    return HubSettings(base_url=BASE, max_event_bytes=64 * 1024, max_body_bytes=16 * 1024)


@pytest.fixture
async def client(
    store: "Store", seed: "Seed", settings: "HubSettings"
) -> "AsyncIterator[httpx.AsyncClient]":
    """Yield a client of the hub with octo's token. Its paths are relative to the API's root."""
    from hub_client import open_client

    headers = {"Authorization": f"Bearer {seed.token}"}
    async with open_client(store, settings, headers=headers) as opened:
        yield opened
