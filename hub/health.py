"""Whether the process lives, and whether it is ready: checks, each with a figure and the remedy."""

import asyncio
import time
from dataclasses import asdict, dataclass

from hub.answers import Answer, json_answer
from hub.seeing import Seeing
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
class Check:
    """Something that was looked at. `figure` is in seconds, where it is a time."""

    name: str
    ok: bool
    said: str
    figure: float | None = None
    remedy: str = ""


class Health:
    """Checks a process; none of them takes longer than a bound, whatever the store does."""

    def __init__(self, seeing: Seeing, ready_lag: float) -> None:
        self._seeing = seeing
        self._ready_lag = ready_lag

    async def alive(self) -> list[Check]:
        """Whether what runs in this process runs."""
        return [await self._event_loop(), self._delivery_loop()]

    async def ready(self) -> list[Check]:
        """Whether it does what it is there for."""
        alive = await self.alive()
        store, lag = await asyncio.gather(self._store(), self._lag())
        return [self._phase(), *alive, *store, lag]

    async def _event_loop(self) -> Check:
        began = time.perf_counter()
        await asyncio.sleep(0)
        late = round(time.perf_counter() - began, 6)
        said = f"one pass took {late:.3f} s"
        remedy = "see what keeps the processor busy, and whether the machine has memory left"
        return Check("event_loop", late < LATE, said, late, remedy)

    def _delivery_loop(self) -> Check:
        stuck = self._seeing.stuck(STUCK)
        remedy = "restart it; with systemd the watchdog does, and the journal has all stacks"
        return Check(
            "delivery_loop", stuck is None, stuck or "it shows signs of life", None, remedy
        )

    def _phase(self) -> Check:
        phase = self._seeing.phase
        return Check("phase", phase == "serving", f"it is {phase}", None, "wait for the next one")

    async def _store(self) -> list[Check]:
        began = time.perf_counter()
        try:
            ahead = await self._seeing.writable.get(PATIENCE)
        except (StoreError, TimeoutError) as error:
            said = f"nothing could be written: {_words(error)}"
            return [Check("database", False, said, None, NO_STORE)]
        took = round(time.perf_counter() - began, 6)
        written = Check("database", True, "it can be written", took, NO_STORE)
        return [written, _schema(ahead)]

    async def _lag(self) -> Check:
        try:
            figures = await self._seeing.figures.get(PATIENCE)
        except (StoreError, TimeoutError) as error:
            return Check("lag", False, f"it is not known: {_words(error)}", None, NO_STORE)
        lag, most = figures.lag / SECOND, self._ready_lag
        workers = len(figures.workers)
        said = f"deliveries wait {lag:.1f} s, {workers} workers are there; {most:g} s are allowed"
        remedy = "start a worker, or another one; see `tocsin status`, and the setting ready_lag"
        return Check("lag", not most or lag <= most, said, lag, remedy)


def _words(error: Exception) -> str:
    return str(error) or f"no answer within {PATIENCE:g} s"


def _schema(ahead: int) -> Check:
    said = "of this program" if not ahead else f"{ahead} steps ahead of this program"
    remedy = "start the tocsin that brought the database there in this one's place"
    return Check("schema", not ahead, f"the database is {said}", ahead, remedy)


def told(checks: list[Check], *, detail: bool) -> Answer:
    """The answer: 200 or 503, and why only where the detail is asked for."""
    ok = all(check.ok for check in checks)
    content: dict[str, object] = {"status": "ok" if ok else "failing"}
    if detail:
        content["checks"] = [_shown(check) for check in checks]
    return json_answer(200 if ok else 503, content, [(b"cache-control", b"no-store")])


def _shown(check: Check) -> dict[str, object]:
    shown = asdict(check)
    if check.ok:
        del shown["remedy"]
    return shown
