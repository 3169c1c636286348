"""Hands outcomes to the store in groups, and keeps them while the store cannot take them."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from store import Store
from store.database.backoff import backoff_delay
from store.delivery import attempts
from store.delivery.attempts import Outcome
from store.errors import Busy, Unavailable
from worker.delivery.watchdog import Watchdog

log = logging.getLogger("tocsin.worker")

FLUSH_INTERVAL = 0.02
MAX_BATCH = 500
# What is answered and not recorded is sent again after a crash: no more than these, however slow
# the store is.
MOST_UNRECORDED = 2000
PAUSES = (0.1, 0.5, 1.0, 2.0, 5.0)


class Recorder:
    """Collects outcomes and writes them down; `recorded` hears of each group once it is safe."""

    def __init__(
        self,
        store: Store,
        recorded: Callable[[Sequence[Outcome], set[int]], None],
        pulse: Watchdog | None = None,
    ) -> None:
        self._store = store
        self._pulse = pulse or Watchdog()
        self._on_recorded = recorded
        self._waiting: list[Outcome] = []
        self._timer: asyncio.TimerHandle | None = None
        self._writes: set[asyncio.Task[None]] = set()
        self._unrecorded = 0
        self._blocked = False

    @property
    def full(self) -> bool:
        """Whether what is sent now could not be recorded, or not soon."""
        return self._blocked or self._unrecorded >= MOST_UNRECORDED

    def add(self, outcome: Outcome) -> None:
        """Record an outcome soon."""
        self._waiting.append(outcome)
        self._unrecorded += 1
        if len(self._waiting) >= MAX_BATCH:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_INTERVAL, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._waiting:
            return
        outcomes, self._waiting = self._waiting, []
        task = asyncio.create_task(self._write(outcomes))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def _write(self, outcomes: list[Outcome]) -> None:
        tries, many = 0, len(outcomes)
        disabled: set[int] = set()
        while True:
            try:
                with self._pulse.watch("recording"):
                    disabled = await self._store.note(attempts.record, outcomes)
                break
            except (Busy, Unavailable) as error:
                # Losing an outcome means sending again, so the same group is offered until taken.
                if not self._blocked:
                    log.error("outcomes cannot be recorded, deliveries pause: %s", error)
                self._blocked = True
                longest = PAUSES[min(tries, len(PAUSES) - 1)]
                await asyncio.sleep(backoff_delay(1, first=longest))
                tries += 1
            except Exception:
                # A mistake of ours must not stop all deliveries. These stay leased, for sending
                # them again at once would only fail again.
                log.exception("%d outcomes are lost until the worker starts anew", len(outcomes))
                outcomes = []
                break
        self._blocked = False
        self._unrecorded -= many
        self._on_recorded(outcomes, disabled)

    async def drain(self, seconds: float) -> None:
        """Wait until everything is written down; what is not after so long will be sent again."""
        self._flush()
        if self._writes:
            _, late = await asyncio.wait(self._writes, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
