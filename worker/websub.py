"""What WebSub wants done beside deliveries: verifying, denying, fetching, and ending leases."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from typing import Any

from store import Row, Store, websub, websub_foreign, websub_requests
from store.clock import SECOND
from store.errors import StoreError
from worker.guard import Guard
from worker.settings import WorkerSettings
from worker.transport import Poster
from worker.websub_fetch import fetch
from worker.websub_verify import confirms, get, new_challenge, question

log = logging.getLogger("tocsin.worker")

# Questions and fetches under way at once.
MOST = 64
FETCHES = 8


class Errands:
    """Does what is due when it is woken, and now and then."""

    def __init__(
        self, store: Store, settings: WorkerSettings, guard: Guard, poster: Poster
    ) -> None:
        self._store = store
        self._settings = settings
        self._guard = guard
        self._poster = poster
        self._looking: asyncio.Task[None] | None = None
        self._again = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_hand: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._stopping = False

    def change(self, settings: WorkerSettings) -> None:
        """Work by these settings from now on."""
        self._settings = settings

    def soon(self) -> None:
        """Look for what is due."""
        self._again = True
        if self._looking is None and not self._stopping and self._settings.websub:
            self._looking = asyncio.get_running_loop().create_task(self._look())

    async def tick(self) -> None:
        """End what has to end, and look for what is due: the net beneath the wake-ups."""
        if not self._settings.websub:
            return
        over, hidden = await self._store.read(websub.overdue)
        if over or hidden:
            await self._store.write(websub.settle, over, hidden)
        self.soon()

    async def _look(self) -> None:
        try:
            while self._again and not self._stopping:
                self._again = False
                await self._take_requests()
                await self._take_topics()
        except StoreError as error:
            log.error("WebSub waits for the store: %s", error)
        finally:
            self._looking = None

    async def _take_requests(self) -> None:
        room = MOST - len(self._tasks)
        if room <= 0 or not await self._store.read(websub_requests.any_due):
            return
        for request in await self._store.write(websub_requests.take, room):
            self._in_hand.add(request["id"])
            self._spawn(self._verify(request))

    async def _take_topics(self) -> None:
        due_at = await self._store.read(websub_foreign.next_due)
        if due_at is None:
            return
        wait = (due_at - self._store.clock.now()) / SECOND
        if wait > 0:
            self._later(wait)
            return
        for topic in await self._store.write(websub_foreign.take, FETCHES):
            self._spawn(fetch(self._store, self._settings, self._guard, self._poster, topic))

    def _later(self, wait: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(wait, self.soon)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(self._run(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except StoreError as error:
            # It is taken again when its time with this worker is over.
            log.error("WebSub: %s", error)
        except Exception:
            log.exception("WebSub")
        self.soon()

    async def _verify(self, request: Row) -> None:
        challenge = new_challenge()
        asked_at = self._store.clock.now()
        answer = await get(
            self._guard,
            self._poster,
            request["callback"],
            question(request, challenge),
            self._settings.timeout,
        )
        said = answer.error or f"status {answer.status}"
        if answer.status is None and not said.startswith("guard:"):
            await self._store.write(websub_requests.unanswered, request, said)
        elif request["mode"] == "denied":
            await self._store.write(websub_requests.done, request, said)
        elif confirms(answer, challenge):
            await self._store.write(websub_requests.done, request, "verified", asked_at)
        else:
            await self._store.write(websub_requests.done, request, f"not verified: {said}")
        self._in_hand.discard(request["id"])

    async def stop(self) -> None:
        """Begin nothing more, and give back what is under way."""
        self._stopping = True
        if self._timer is not None:
            self._timer.cancel()
        tasks = [*self._tasks, *([self._looking] if self._looking is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._in_hand:
            with contextlib.suppress(StoreError):
                await self._store.write(websub_requests.release, [*self._in_hand])
