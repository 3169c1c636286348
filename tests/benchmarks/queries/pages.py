"""Every page of the dashboard with a million deliveries behind it, fetched within the process."""

import asyncio
import statistics
import time
from collections.abc import Iterator
from typing import Any

from page_routes import unvisited

from hub.admin.observability import Observability
from hub.app import create_app
from hub.settings import HubSettings
from store import open_store
from tests.benchmarks.harness.figure import Bench, Row, percentile
from tests.benchmarks.queries.pages_world import EVENTS, FANOUT, fill
from tests.benchmarks.queries.within import allow, answered, get

ASKED = 30
WANTED = 15.0
SETTINGS = HubSettings(rate_limiting=False, imports=True, base_url="http://127.0.0.1:8765")
LAST = EVENTS * FANOUT - 8000
WITHOUT = {"/ui/shared": "it is for visitors with a shared link"}
"""Pages that are not measured, with the reason."""

PAGES = (
    ("ada", "/ui"),
    ("root", "/ui"),
    ("root", "/ui?span=24h"),
    ("ada", "/ui/problems"),
    ("root", "/ui/problems"),
    ("root", "/ui/problem?host=receiver-1.example&kind=500"),
    ("ada", "/ui/hooks"),
    ("root", "/ui/hooks"),
    ("root", "/ui/hooks?state=failing"),
    ("ada", "/ui/hooks/1"),
    ("root", "/ui/hooks/5"),
    ("ada", "/ui/hooks/1/trends"),
    ("root", "/ui/hooks/1/trends?span=30d"),
    ("root", "/ui/hosts/receiver-1.example"),
    ("ada", "/ui/hooks/new"),
    ("ada", "/ui/hooks/1/edit"),
    ("ada", "/ui/hooks/1/delete"),
    ("ada", "/ui/hooks/1/send"),
    ("ada", "/ui/deliveries"),
    ("root", "/ui/deliveries"),
    ("ada", "/ui/deliveries?status=failure"),
    ("root", "/ui/deliveries?event=star"),
    ("ada", "/ui/deliveries?repository=ada/repository-0&status=failure"),
    ("root", "/ui/deliveries?hook=5"),
    ("root", "/ui/deliveries?range=1h"),
    ("root", "/ui/deliveries?code=5xx"),
    ("root", "/ui/deliveries?event=issues.opened&range=24h"),
    ("root", "/ui/deliveries?sort=-duration"),
    ("root", "/ui/deliveries?text=nowhere"),
    ("root", f"/ui/deliveries/{LAST}"),
    ("root", f"/ui/retry?attempt={LAST}"),
    ("root", f"/ui/retried?deliveries={LAST}"),
    ("ada", "/ui/events"),
    ("root", "/ui/events"),
    ("ada", "/ui/events?wanted=nobody"),
    ("root", "/ui/events?wanted=nobody&before=200000"),
    ("ada", "/ui/events?event=star&repository=ada/repository-0"),
    ("root", "/ui/events?event=release"),
    ("root", f"/ui/events/{EVENTS // 2}"),
    ("ada", "/ui/replay"),
    ("root", "/ui/replay?count=1"),
    ("ada", "/ui/replay?count=1&hook=1&status=failed"),
    ("root", "/ui/replay?count=1&hook=5"),
    ("root", "/ui/replay/1"),
    ("root", "/ui/replay?count=usual&hook=5"),
    ("ada", "/ui/catalogue"),
    ("root", "/ui/catalogue"),
    ("root", "/ui/catalogue/push"),
    ("ada", "/ui/topics"),
    ("root", "/ui/topics"),
    ("ada", "/ui/topics/1?event=push"),
    ("root", "/ui/topics/followers"),
    ("ada", "/ui/limits"),
    ("root", "/ui/reports"),
    ("root", "/ui/imports"),
    ("ada", "/ui/imports/1"),
    ("root", "/ui/apps"),
    ("root", "/ui/apps/1"),
    ("root", "/ui/openid-links"),
    ("root", "/ui/jobs"),
    ("root", "/ui/audit"),
    ("root", "/ui/audit?who=nobody"),
    ("root", "/ui/audit?on=nobody"),
    ("root", "/ui/audit/check"),
    ("ada", "/ui/reference"),
    ("ada", "/ui/reference/repos"),
    ("ada", "/ui/reference/schemas/Hook"),
    ("ada", "/ui/sign-in"),
    ("ada", "/ui/sessions"),
    ("ada", "/ui/mail"),
    ("root", "/ui/mail"),
)


def measure(bench: Bench) -> Iterator[Row]:
    """Milliseconds until the response of each page is complete."""
    _check_all()
    bench.said("pages: a million deliveries")
    dashboard = DashboardBench(bench)
    try:
        for who, path in PAGES:
            bench.said(f"pages: {path}")
            took, spent = dashboard.ask(who, path)
            middle, worked = statistics.median(took), statistics.median(spent)
            figure = f"{path}, {who}: p95 (p50 {middle:.1f}, CPU {worked:.1f})"
            # A search for a text may take a second, and is measured in `texts`.
            wanted = None if "text=" in path else WANTED
            yield Row(
                figure, "ms", percentile(took, 0.95), wanted=wanted, more=False, absolute=True
            )
    finally:
        dashboard.close()


def _check_all() -> None:
    """Raise RuntimeError if a page of the dashboard is missing in PAGES."""
    missing = unvisited(path for _, path in PAGES) - WITHOUT.keys()
    if missing:
        raise RuntimeError(f"{', '.join(sorted(missing))}: not measured")


class DashboardBench:
    """A hub with the dashboard, on a store with a million deliveries."""

    def __init__(self, bench: Bench) -> None:
        self._store = open_store("sqlite", data_dir=bench.directory)
        self._sessions = fill(self._store)
        self._loop = asyncio.new_event_loop()
        self._observability = Observability(self._store)
        self._app = create_app(self._store, SETTINGS, allow, observability=self._observability)

    def ask(self, who: str, path: str) -> tuple[list[float], list[float]]:
        """Return the times and the processor times of ASKED requests in milliseconds.

        The first request does not count.
        """
        return self._loop.run_until_complete(self._asked(who, path))

    async def _asked(self, who: str, path: str) -> tuple[list[float], list[float]]:
        scope = _scope(path, self._sessions[who])
        took, spent = [], []
        for _ in range(ASKED + 1):
            started, worked = time.perf_counter(), time.process_time()
            await answered(self._app, scope)
            took.append((time.perf_counter() - started) * 1000)
            spent.append((time.process_time() - worked) * 1000)
        return took[1:], spent[1:]

    def close(self) -> None:
        self._loop.run_until_complete(self._end())
        self._loop.close()

    async def _end(self) -> None:
        await self._observability.close()
        await self._store.close()


def _scope(wanted: str, session: str) -> dict[str, Any]:
    path, _, query = wanted.partition("?")
    cookie = f"tocsin_ui={session}".encode()
    headers = [(b"host", b"127.0.0.1:8765"), (b"cookie", cookie), (b"user-agent", b"bench")]
    return get(path, query.encode(), headers)
