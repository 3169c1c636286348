"""Whether the process lives, and whether it is ready: checks, each with a figure and the remedy."""

import asyncio
import time
from dataclasses import asdict, dataclass

from hub.admin.observability import Observability
from hub.http.response import Response, json_response
from store.clock import SECOND
from store.errors import StoreError

# Seconds without a sign of life after which a part counts as stuck.
STUCK = 30.0
# Seconds in which the store has to answer.
PATIENCE = 2.0
# Seconds by which the event loop may be late.
LATE = 1.0
NO_STORE = (
    "see that the database can be reached and written: `tocsin doctor`, the disk's space and"
    " permissions, other programs that hold a lock on it"
)


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """Something that was looked at. `figure` is in seconds, where it is a time."""

    name: str
    ok: bool
    said: str
    figure: float | None = None
    remedy: str = ""


class Health:
    """Checks a process; none of them takes longer than a bound, whatever the store does."""

    def __init__(self, seeing: Observability, ready_lag: float) -> None:
        self._seeing = seeing
        self._ready_lag = ready_lag

    async def alive(self) -> list[HealthCheck]:
        """Whether what runs in this process runs."""
        return [await self._event_loop(), self._delivery_loop()]

    async def ready(self) -> list[HealthCheck]:
        """Whether it does what it is there for."""
        alive = await self.alive()
        store, lag = await asyncio.gather(self._store(), self._lag())
        return [self._phase(), *alive, *store, lag]

    async def _event_loop(self) -> HealthCheck:
        began = time.perf_counter()
        await asyncio.sleep(0)
        late = round(time.perf_counter() - began, 6)
        said = f"one pass took {late:.3f} s"
        remedy = "see what keeps the processor busy, and whether the machine has memory left"
        return HealthCheck("event_loop", late < LATE, said, late, remedy)

    def _delivery_loop(self) -> HealthCheck:
        stuck = self._seeing.stuck(STUCK)
        remedy = "restart it; with systemd the watchdog does, and the journal has all stacks"
        return HealthCheck(
            "delivery_loop", stuck is None, stuck or "it shows signs of life", None, remedy
        )

    def _phase(self) -> HealthCheck:
        phase = self._seeing.phase
        return HealthCheck(
            "phase", phase == "serving", f"it is {phase}", None, "wait for the next one"
        )

    async def _store(self) -> list[HealthCheck]:
        began = time.perf_counter()
        try:
            ahead = await self._seeing.writable.get(PATIENCE)
        except (StoreError, TimeoutError) as error:
            said = f"nothing could be written: {_words(error)}"
            return [HealthCheck("database", False, said, None, NO_STORE)]
        took = round(time.perf_counter() - began, 6)
        written = HealthCheck("database", True, "it can be written", took, NO_STORE)
        return [written, _schema(ahead)]

    async def _lag(self) -> HealthCheck:
        try:
            figures = await self._seeing.figures.get(PATIENCE)
        except (StoreError, TimeoutError) as error:
            return HealthCheck("lag", False, f"it is not known: {_words(error)}", None, NO_STORE)
        lag, most = figures.lag / SECOND, self._ready_lag
        workers = len(figures.workers)
        said = f"deliveries wait {lag:.1f} s, {workers} workers are there; {most:g} s are allowed"
        remedy = "start a worker, or another one; see `tocsin status`, and the setting ready_lag"
        return HealthCheck("lag", not most or lag <= most, said, lag, remedy)


def _words(error: Exception) -> str:
    return str(error) or f"no answer within {PATIENCE:g} s"


def _schema(ahead: int) -> HealthCheck:
    said = "of this program" if not ahead else f"{ahead} steps ahead of this program"
    remedy = "start the tocsin that brought the database there in this one's place"
    return HealthCheck("schema", not ahead, f"the database is {said}", ahead, remedy)


def report(checks: list[HealthCheck], *, detail: bool) -> Response:
    """The answer: 200 or 503, and why only where the detail is asked for."""
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
