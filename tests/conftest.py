"""The fixtures that all tests share: a store in a temporary folder, seed data, and the hub."""

import gc
import itertools
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from engines import ENGINES, engine_url, open_furnished
from process_watcher import watch
from progress_report import Progress

# Fixtures import what they need when they run. So a test of a pure function waits only for that
# function's imports.
if TYPE_CHECKING:
    import httpx
    from seed import Seed

    from hub.settings import HubSettings
    from store import Store
    from store.clock import MovableClock

# Objects that exist after the collection stay until the end. Checking them for garbage again and
# again takes a third of the time.
gc.disable()

# Without compiled modules, a daemon takes twice as long to start, and tests start hundreds of them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell that runs pytest in the background has it, and all programs that it starts, ignore SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)

BASE = "https://forge.example/api/v3"
START = "2026-11-21T07:33:00Z"

# The tests that take longest, longest first, with the reason.
LONG = {
    "tests/system/test_schemathesis.py": "thousands of requests that are made up",
    "tests/torture/test_torture.py::test_each_fault_has_its_outcome[10,000": "50,000 deliveries",
    "tests/torture/test_torture.py::test_what_is_promised_is_kept[ledger]": "14 starts and kills",
    "tests/system/test_cluster.py": "six processes, 40,000 deliveries",
    "tests/docs/test_tutorial.py": "every command of the first hour",
    "tests/docs/test_how_to.py": "a daemon is started for each page",
    "tests/torture/": "a daemon is started and killed again and again",
    "tests/system/test_failures.py": "a database is stopped and started beside three processes",
    "tests/system/test_systemd_real.py": "a machine boots",
    "tests/system/test_seeing.py": "daemons are started for each test",
    "tests/system/test_installation.py": "packages are built and installed, again for each way",
    "tests/system/": "daemons are started for each test",
    "tests/browser/": "a browser and a daemon are started",
    "tests/clients/": "client libraries are installed and run against a daemon",
    "tests/hub/openapi/test_generated_clients.py": "clients in two languages are generated and run",
    "tests/docs/test_snippets.py::test_the_snippet_of_a_language[ts": "a compiler is installed",
    "tests/docs/test_snippets.py::test_the_snippet_of_a_language_with_a_public_key[ts": (
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
    "tests/hub/api/apps/test_installation_rights.py::test_rights_of_thousands": "a thousand rounds",
    "tests/test_running.py": "whole runs of pytest",
    "tests/hub/openapi/test_openapi.py::test_a_page_loads_nothing_from_outside[sqlite-/ref": (
        "each page of the reference is drawn"
    ),
    "tests/store/database/test_sqlite.py::TestTrouble::test_locked_by": "SQLite waits for a lock",
    "tests/store/database/test_postgres.py::TestPlans": "a table of 200,000 rows",
    "tests/store/database/test_distributed_postgres.py": "a PostgreSQL server is started",
    "tests/worker/imports/test_import_mercurial.py": "Mercurial is started for each test",
    "tests/store/pg_migration/": "databases are copied to a PostgreSQL server, which is started",
    "tests/store/database/test_postgres.py": "a PostgreSQL server is started",
    "tests/test_style.py::test_it_is_clean[types]": "mypy reads everything",
}

BEGINNINGS = tuple(LONG)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Have the processes that this one starts end with it. In the process that reports, show
    progress.
    """
    watch()
    if config.pluginmanager.has_plugin("terminalreporter"):
        config.pluginmanager.register(Progress(config))


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Load the profile of hypothesis before a module that uses it."""
    if isinstance(collector, pytest.Module) and "hypothesis" in collector.path.read_text("utf-8"):
        import examples  # noqa: F401 - it loads the profile


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return three workers for each processor, because a test waits for two thirds of its time.

    More would cost more than they gain. Each worker collects all tests, which takes as long as a
    thousand of them.
    """
    return 3 * len(os.sched_getaffinity(0))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark long tests as slow, and start them first, some on each worker.

    `-m "not slow"` leaves them out. Each worker begins with one contiguous part of the list. When
    it has finished, it takes tests from the end of another's part.
    """
    for item in items:
        reason = _why_slow(item)
        if reason is not None:
            item.add_marker(pytest.mark.slow(reason))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
    groups = _groups(items)
    for number, group in enumerate(groups[:-1]):
        shares[number % workers] += group
    short = iter(groups[-1])
    left = len(items)
    for number, share in enumerate(shares):
        size = left // (workers - number)
        share += itertools.islice(short, max(size - len(share), 0))
        left -= size
    items[:] = [item for share in shares for item in share]


def _why_slow(item: pytest.Item) -> str | None:
    """Return why a test is slow, or None. Quick tests run on the embedded engine alone."""
    place = _place(item)
    reason = None if place is None else [*LONG.values()][place]
    callspec = getattr(item, "callspec", None)
    if reason is None and callspec is not None and callspec.params.get("url") == "postgres":
        return "the same on the second engine"
    return reason


def _place(item: pytest.Item) -> int | None:
    """Return the place of a test in LONG, or None."""
    name = item.nodeid
    if not name.startswith(BEGINNINGS):
        return None
    return next(at for at, one in enumerate(LONG) if name.startswith(one))


def _groups(items: list[pytest.Item]) -> list[list[pytest.Item]]:
    """Return the long tests in groups by file, longest first, and all other tests as the last
    group.
    """
    groups: dict[tuple[int, str], list[pytest.Item]] = {}
    for item in items:
        place = _place(item)
        file = "" if place is None else item.nodeid.partition("::")[0]
        groups.setdefault((len(LONG) if place is None else place, file), []).append(item)
    groups.setdefault((len(LONG), ""), [])
    return [groups[key] for key in sorted(groups)]


def pytest_collection_finish(session: pytest.Session) -> None:
    plugins = session.config.pluginmanager
    if "hypothesis" not in sys.modules and not plugins.has_plugin("dsession"):
        # When it ends, the plugin would import all of hypothesis, although no test has used it.
        plugins.unregister(name="hypothesispytest")
    if "store.accounts.accounts" in sys.modules:
        import cheap_passwords  # noqa: F401 - it replaces the cost
    if "store.delivery.outbox" in sys.modules:
        import hub_client  # noqa: F401 - it holds every event to the contract
    # The present objects stay until the end, so the garbage collector need not check them again.
    gc.freeze()
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

    return store.do(make)


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
