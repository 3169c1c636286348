"""The supervisor of sender processes: it starts them under load, and replaces those that end."""

import asyncio
import logging
from collections.abc import Callable

from store.database.backoff import backoff_delay
from worker.background_tasks import BackgroundTasks
from worker.loop_bound import LoopBound
from worker.senders.child import SenderChild
from worker.settings import WorkerSettings
from worker.tuning import DEFAULTS, Tuning

log = logging.getLogger("tocsin.worker")

# Seconds that a process has to become ready.
START_SECONDS = 30.0
# Seconds before ended processes are started again: first, and at most while they end at once.
PAUSE, LONGEST_PAUSE = 1.0, 60.0
CHECK_INTERVAL = 1.0
CLOSE_SECONDS = 2.0


class SenderSupervisor(LoopBound):
    """The sender processes of a worker, at most `most`.

    `on_death` is called when a process has ended although nobody ended it.
    """

    def __init__(
        self,
        most: int,
        settings: WorkerSettings,
        on_death: Callable[[], None],
        tuning: Tuning = DEFAULTS,
    ) -> None:
        self._most, self._settings, self._tuning = most, settings, tuning
        self._on_death = on_death
        self.ready: list[SenderChild] = []
        """The processes that can send."""
        self._ending: list[SenderChild] = []
        # The number of requests since a time (seconds), by which load is judged.
        self._count, self._counted_since = 0, 0.0
        self._failures = 0
        self._starting = self._closed = False
        self._checks: asyncio.TimerHandle | None = None
        self._tasks = BackgroundTasks()

    def choose(self) -> SenderChild | None:
        """Return the process with the fewest requests in flight.

        Return None if none is ready. If there are many requests, they are then started.
        """
        if self.ready:
            self._count += 1
            return min(self.ready, key=_load) if len(self.ready) > 1 else self.ready[0]
        if not self._starting and self._is_busy():
            self._start()
        return None

    def _is_busy(self) -> bool:
        """Count a request, and return whether there are many of them."""
        now = self._loop.time()
        if now - self._counted_since > 1:
            self._count, self._counted_since = 0, now
        self._count += 1
        return self._count >= self._tuning.senders_start_at

    def _start(self) -> None:
        """Start the processes that are missing, unless that is going on."""
        if not (self._starting or self._closed):
            self._starting = True
            self._counted_since = self._loop.time()
            self._tasks.start(self._start_all())

    async def _start_all(self) -> None:
        missing = self._most - len(self.ready)
        started = await asyncio.gather(
            *(self._start_one() for _ in range(missing)), return_exceptions=True
        )
        self._starting = False
        errors = [error for error in started if error is not None]
        for error in errors:
            log.error("a sender process cannot be started: %r", error)
        if self.ready:
            self._check_later()
        if errors:
            self._start_later()

    async def _start_one(self) -> None:
        child = SenderChild(self._on_end)
        try:
            async with asyncio.timeout(START_SECONDS):
                await child.start(*self._rules())
        except BaseException:
            child.kill()
            raise
        self.ready.append(child)

    def _start_later(self) -> None:
        self._failures += 1
        delay = backoff_delay(self._failures, first=PAUSE, longest=LONGEST_PAUSE)
        self._loop.call_later(delay, self._start)

    def _rules(self) -> tuple[list[str], str, int]:
        settings = self._settings
        return list(settings.allow_networks), settings.callback_ports, settings.max_in_flight

    def _on_end(self, child: SenderChild) -> None:
        if child not in self.ready:
            return
        self.ready.remove(child)
        self._on_death()
        log.error("a sender process ended; %d requests in flight failed", child.in_flight)
        self._start_later()

    def _check_later(self) -> None:
        if self._checks is None and not self._closed:
            self._checks = self._loop.call_later(CHECK_INTERVAL, self._check)

    def _check(self) -> None:
        """End a process that is stuck, and all of them after a time without load."""
        self._checks = None
        for child in list(self.ready):
            if child.is_stuck(self._tuning.senders_grace):
                log.error("sender process %s is stuck, and is ended", child.pid)
                child.kill()
        if self._count or self.in_flight:
            self._count, self._counted_since = 0, self._loop.time()
        if self._loop.time() - self._counted_since > self._tuning.senders_idle:
            self._retire()
            self._tasks.start(self._close_all())
        elif self.ready:
            self._failures = 0
            self._check_later()

    @property
    def in_flight(self) -> int:
        return sum(child.in_flight for child in self.ready)

    @property
    def connections(self) -> int:
        """Return how many connections to receivers the processes had open at their last answers."""
        return sum(child.connections for child in self.ready)

    def change(self, settings: WorkerSettings) -> None:
        """Apply the rules for addresses, and keep no connection that is open now."""
        self._settings = settings
        for child in self.ready:
            child.configure(*self._rules())

    async def close(self) -> None:
        """End the processes, which drop what is in flight."""
        self._end_checks()
        await self._tasks.stop()
        await self._close_all()

    def _retire(self) -> None:
        """Send nothing more with the processes that are ready."""
        self._ending += self.ready
        self.ready = []

    async def _close_all(self) -> None:
        self._retire()
        children = [*self._ending]
        await asyncio.gather(*(child.close(CLOSE_SECONDS) for child in children))
        self._ending = [child for child in self._ending if child not in children]

    def abort(self) -> None:
        """End the processes at once."""
        self._end_checks()
        self._tasks.cancel()
        self._retire()
        for child in self._ending:
            child.kill()

    def _end_checks(self) -> None:
        self._closed = True
        if self._checks is not None:
            self._checks.cancel()


def _load(child: SenderChild) -> int:
    return child.in_flight
