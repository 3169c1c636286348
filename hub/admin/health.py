"""Health checks of the process: is it alive and ready? Each has a figure and a remedy."""

import asyncio
import time
from dataclasses import asdict, dataclass

from hub.admin.observability import Observability
from hub.http.response import Response, json_response
from store.clock import SECOND
from store.errors import Full, StoreError

# Seconds without a sign of life after which a component counts as stuck.
STUCK = 30.0
# Time limit for the store's response, in seconds.
PATIENCE = 2.0
# Limit of the event loop's delay, in seconds.
LATE = 1.0
NO_STORE = (
    "check that the database can be reached and written: `tocsin doctor`, the disk's space and"
    " permissions, other programs that hold a lock on it"
)

DAMAGED = "restore a backup. If `tocsin doctor --thorough` finds no damage, restart tocsin"


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """The result of one check. A `figure` that is a time is in seconds."""

    name: str
    ok: bool
    said: str
    figure: float | None = None
    remedy: str = ""


class Health:
    """Checks a process. No check takes longer than a limit, whatever the store does."""

    def __init__(self, observability: Observability, ready_lag: float) -> None:
        self._observability = observability
        self._ready_lag = ready_lag

    async def alive(self) -> list[HealthCheck]:
        """Check that the components of this process run."""
        return [await self._event_loop(), self._delivery_loop()]

    async def ready(self) -> list[HealthCheck]:
        """Check that the process can also use the store and delivers in time."""
        alive = await self.alive()
        store, lag = await asyncio.gather(self._store(), self._lag())
        return [self._phase(), *alive, *store, lag]

    async def _event_loop(self) -> HealthCheck:
        began = time.perf_counter()
        await asyncio.sleep(0)
        late = round(time.perf_counter() - began, 6)
        said = f"one pass took {late:.3f} s"
        remedy = "check what keeps the processor busy, and whether the machine has free memory"
        return HealthCheck("event_loop", late < LATE, said, late, remedy)

    def _delivery_loop(self) -> HealthCheck:
        stuck = self._observability.stuck(STUCK)
        remedy = "restart it; under systemd the watchdog does so, and the journal has all stacks"
        return HealthCheck(
            "delivery_loop", stuck is None, stuck or "it shows signs of life", None, remedy
        )

    def _phase(self) -> HealthCheck:
        phase = self._observability.phase
        return HealthCheck(
            "phase", phase == "serving", f"it is {phase}", None, "wait until the process is serving"
        )

    async def _store(self) -> list[HealthCheck]:
        condition = self._observability.store.condition
        if condition.damage:
            return [HealthCheck("database", False, condition.damage, None, DAMAGED)]
        began = time.perf_counter()
        try:
            # The probe overwrites a row, so it succeeds where no event has room.
            if condition.lack:
                raise Full(condition.lack)
            ahead = await self._observability.writable.get(PATIENCE)
        except (StoreError, TimeoutError) as error:
            said = f"the database cannot be written: {_words(error)}"
            return [HealthCheck("database", False, said, None, NO_STORE)]
        took = round(time.perf_counter() - began, 6)
        written = HealthCheck("database", True, "it can be written", took, NO_STORE)
        return [written, _schema(ahead)]

    async def _lag(self) -> HealthCheck:
        try:
            figures = await self._observability.figures.get(PATIENCE)
        except (StoreError, TimeoutError) as error:
            return HealthCheck(
                "lag", False, f"the lag is not known: {_words(error)}", None, NO_STORE
            )
        lag, most = figures.lag / SECOND, self._ready_lag
        workers = len(figures.workers)
        said = f"deliveries wait {lag:.1f} s for {workers} workers; the limit is {most:g} s"
        remedy = "start a worker, or one more; see `tocsin status` and the setting ready_lag"
        return HealthCheck("lag", not most or lag <= most, said, lag, remedy)


def _words(error: Exception) -> str:
    return str(error) or f"no answer within {PATIENCE:g} s"


def _schema(ahead: int) -> HealthCheck:
    said = "at this program's schema" if not ahead else f"{ahead} steps ahead of this program"
    remedy = "start the version of tocsin that migrated the database instead"
    return HealthCheck("schema", not ahead, f"the database is {said}", ahead, remedy)


def report(checks: list[HealthCheck], *, detail: bool) -> Response:
    """Return the response: 200 or 503. The checks are included only if `detail` is set."""
    ok = all(check.ok for check in checks)
    content: dict[str, object] = {"status": "ok" if ok else "failing"}
    if detail:
        content["checks"] = [_serialize_check(check) for check in checks]
    return json_response(200 if ok else 503, content, [(b"cache-control", b"no-store")])


def _serialize_check(check: HealthCheck) -> dict[str, object]:
    shown = asdict(check)
    if check.ok:
        del shown["remedy"]
    return shown
