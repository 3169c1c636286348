"""Hands outcomes to the store in groups, and keeps them while the store cannot take them."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from store import Store, attempts
from store.attempts import Outcome
from store.backoff import pause
from store.errors import Busy, Unavailable
from worker.pulse import Pulse

log = logging.getLogger("tocsin.worker")

EVERY = 0.02
MOST = 500
PAUSES = (0.1, 0.5, 1.0, 2.0, 5.0)


class Recorder:
    """Collects outcomes and writes them down; `recorded` hears of each group once it is safe."""

    def __init__(
        self,
        store: Store,
        recorded: Callable[[Sequence[Outcome], set[int]], None],
        pulse: Pulse | None = None,
    ) -> None:
        self._store = store
        self._pulse = pulse or Pulse()
        self._recorded = recorded
        self._waiting: list[Outcome] = []
        self._timer: asyncio.TimerHandle | None = None
        self._writes: set[asyncio.Task[None]] = set()
        self.blocked = False
        """The store takes nothing: what is sent now could not be recorded."""

    def add(self, outcome: Outcome) -> None:
        """Record an outcome soon."""
        self._waiting.append(outcome)
        if len(self._waiting) >= MOST:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY, self._flush)

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
        tries = 0
        disabled: set[int] = set()
        while True:
            try:
                with self._pulse.during("recording"):
                    disabled = await self._store.note(attempts.record, outcomes)
                break
            except (Busy, Unavailable) as error:
                # Losing an outcome means sending again, so the same group is offered until taken.
                if not self.blocked:
                    log.error("outcomes cannot be recorded, deliveries pause: %s", error)
                self.blocked = True
                longest = PAUSES[min(tries, len(PAUSES) - 1)]
                await asyncio.sleep(pause(1, first=longest))
                tries += 1
            except Exception:
                # A mistake of ours must not stop all deliveries. These stay leased, for sending
                # them again at once would only fail again.
                log.exception("%d outcomes are lost until the worker starts anew", len(outcomes))
                outcomes = []
                break
        self.blocked = False
        self._recorded(outcomes, disabled)

    async def drain(self, seconds: float) -> None:
        """Wait until everything is written down; what is not after so long will be sent again."""
        self._flush()
        if self._writes:
            _, late = await asyncio.wait(self._writes, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
