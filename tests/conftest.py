"""What tests share: a real store in a temporary folder, people in it, and the hub over it."""

import gc
import itertools
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from asking import asking
from engines import ENGINES, engine_url, furnish
from hypothesis import HealthCheck
from hypothesis import settings as settings_of_examples
from progress import Progress
from warden import watch

from hub.settings import HubSettings
from store import Connection, Row, Store, open_store
from store.accounts import accounts, tokens
from store.clock import MovableClock, parse
from store.repositories import repositories

# All that is made while tests are found stays to the end: looking through it for garbage, again and
# again, takes a third of the time.
gc.disable()

# A daemon whose modules are compiled anew takes twice as long to start, and tests start hundreds.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Who starts them in the background has them ignore it, and all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How quick a machine is, and that a store outlives an example, are no findings.
IGNORED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings_of_examples.register_profile("tests", deadline=None, suppress_health_check=IGNORED)
settings_of_examples.load_profile("tests")

BASE = "https://forge.example/api/v3"
START = "2026-11-21T07:33:00Z"

# What takes longest, longest first, and why it does.
LONG = {
    "tests/system/test_schemathesis.py": "thousands of requests that are made up",
    "tests/torture/test_torture.py::test_each_fault_has_its_outcome[10,000": "50,000 deliveries",
    "tests/torture/test_torture.py::test_what_is_promised_is_kept[ledger]": "30 starts and kills",
    "tests/system/test_cluster.py": "six processes, 100,000 deliveries",
    "tests/docs/test_tutorial.py": "every command of the first hour",
    "tests/docs/test_how_to.py": "a daemon is started for each page",
    "tests/torture/": "a daemon is started and killed again and again",
    "tests/system/test_failures.py": "a database is stopped and started beside three processes",
    "tests/system/test_systemd_real.py": "a machine boots",
    "tests/system/test_seeing.py": "daemons are started for each test",
    "tests/system/": "daemons are started for each test",
    "tests/browser/": "a browser and a daemon are started",
    "tests/hub/cli/operate/test_migrate.py": "daemons are started for each test",
    "tests/hub/cli/service/test_daemon.py": "daemons are started for each test",
    "tests/hub/cli/service/test_processes.py": "daemons are started for each test",
    "tests/hub/cli/test_recipes.py": "daemons are started for each test",
    "tests/test_running.py": "whole runs of pytest",
    "tests/store/database/test_postgres.py::TestPlans": "a table of 200,000 rows",
    "tests/test_style.py::test_it_is_clean[types]": "mypy reads everything",
}


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """What this process starts ends with it, and the one that reports says how far it is."""
    watch()
    if config.pluginmanager.has_plugin("terminalreporter"):
        config.pluginmanager.register(Progress(config))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Three for two processors: many tests wait, for other processes or for a time to be over."""
    return max(len(os.sched_getaffinity(0)) * 3 // 2, 1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long is marked so (`-m "not slow"` leaves it out). It is begun first, and by each
    worker some of it: they begin with one piece each of the whole, and take from each other's ends
    when theirs is done.
    """
    for item in items:
        reason = next((why for one, why in LONG.items() if item.nodeid.startswith(one)), None)
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


def _groups(items: list[pytest.Item]) -> list[list[pytest.Item]]:
    """Long ones, longest first and those of a file together; then all others as one."""
    groups: dict[tuple[int, str], list[pytest.Item]] = {}
    for item in items:
        place = next((at for at, one in enumerate(LONG) if item.nodeid.startswith(one)), len(LONG))
        file = item.nodeid.partition("::")[0] if place < len(LONG) else ""
        groups.setdefault((place, file), []).append(item)
    groups.setdefault((len(LONG), ""), [])
    return [groups[key] for key in sorted(groups)]


def pytest_collection_finish() -> None:
    """What is there now stays to the end: nobody need look through it for garbage again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(parse(START))


@pytest.fixture(params=ENGINES)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The engine under test: whatever uses `store` runs on each of them."""
    with engine_url(request.param) as named:
        yield named


@pytest.fixture
def store(url: str, tmp_path: Path, clock: MovableClock) -> Iterator[Store]:
    furnish(url, tmp_path)
    opened = open_store(url, data_dir=tmp_path, clock=clock)
    yield opened
    opened.shut()


@dataclass
class Seed:
    """octo administers the public octo/hello and the private octo/vault; reader may only look."""

    octo: Row
    reader: Row
    hello: Row
    vault: Row
    token: str
    reader_token: str


def _seed(db: Connection) -> Seed:
    octo = accounts.create(db, "octo")
    reader = accounts.create(db, "reader")
    hello = repositories.create(db, octo["id"], "hello")
    vault = repositories.create(db, octo["id"], "vault", private=True)
    token, _ = tokens.create(db, octo["id"], scopes=["repo"])
    reader_token, _ = tokens.create(db, reader["id"], scopes=["repo"])
    return Seed(octo, reader, hello, vault, token, reader_token)


@pytest.fixture
def seed(store: Store) -> Seed:
    return store.do(_seed)


@pytest.fixture
def settings() -> HubSettings:
    return HubSettings(base_url=BASE, max_event_bytes=64 * 1024, max_body_bytes=16 * 1024)


@pytest.fixture
async def client(
    store: Store, seed: Seed, settings: HubSettings
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the hub that speaks for octo; its paths are under the API's root."""
    headers = {"Authorization": f"Bearer {seed.token}"}
    async with asking(store, settings, headers=headers) as opened:
        yield opened
