"""The tasks of WebSub beside deliveries: verifying, denying, fetching, and ending leases."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from typing import Any

from store import Row, Store
from store.clock import SECOND
from store.delivery.websub import websub, websub_foreign, websub_requests
from store.errors import StoreError, Unusable
from worker.background_tasks import BackgroundTasks
from worker.http.client import FetchedResponse, GuardedClient, RequestFailed
from worker.settings import WorkerSettings
from worker.websub.fetch import fetch_topic
from worker.websub.verify import ask_callback, is_confirmed, new_challenge, verification_query

log = logging.getLogger("tocsin.worker")

# The most verifications under way at once, which is also the most fetches.
MOST = 64


class WebSubTasks:
    """The runner of due tasks. It starts them when it is woken, and at intervals."""

    def __init__(self, store: Store, settings: WorkerSettings, client: GuardedClient) -> None:
        self._store = store
        self._settings = settings
        self._client = client
        self._polling: asyncio.Task[None] | None = None
        self._again = False
        self._verifications = BackgroundTasks(self.wake)
        self._fetches = BackgroundTasks(self.wake)
        self._parsing = asyncio.Lock()
        self._claimed_ids: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._stopping = False

    def change(self, settings: WorkerSettings) -> None:
        """Apply these settings from now on."""
        self._settings = settings

    def wake(self) -> None:
        """Start the tasks that are due."""
        self._again = True
        if self._polling is None and not self._stopping and self._settings.websub:
            self._polling = asyncio.get_running_loop().create_task(self._poll())

    async def tick(self) -> None:
        """End expired subscriptions, and look for due tasks that no wake-up has reported.

        Leases end without the setting `websub`, too: until then, each event adds a delivery.
        """
        while any(found := await self._store.read(websub.find_ended)):
            await self._store.write(websub.end_found, *found)
        self.wake()

    async def _poll(self) -> None:
        try:
            while self._again and not self._stopping:
                self._again = False
                await self._claim_requests()
                await self._claim_topics()
        except StoreError as error:
            log.error("WebSub waits for the store: %s", error)
        finally:
            self._polling = None

    async def _claim_requests(self) -> None:
        room = MOST - len(self._verifications)
        if room <= 0 or not await self._store.read(websub_requests.any_due):
            return
        for request in await self._store.write(websub_requests.claim, room):
            self._claimed_ids.add(request["id"])
            self._verifications.start(self._run(self._verify(request)))

    async def _claim_topics(self) -> None:
        # Verifications do not count: slow subscribers must not keep back topics, nor the reverse.
        room = MOST - len(self._fetches)
        if room <= 0:
            return
        due_at = await self._store.read(websub_foreign.next_due)
        if due_at is None:
            return
        wait = (due_at - self._store.clock.now()) / SECOND
        if wait > 0:
            self._wake_after(wait)
            return
        for topic in await self._store.write(websub_foreign.claim, room):
            self._fetches.start(self._run(self._fetch(topic)))

    def _fetch(self, topic: Row) -> Coroutine[Any, Any, None]:
        return fetch_topic(self._store, self._settings, self._client, topic, self._parsing)

    def _wake_after(self, wait: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(wait, self.wake)

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except StoreError as error:
            # The task is claimed again when this claim has expired.
            log.error("WebSub: %s", error)
        except Exception:
            log.exception("WebSub")

    async def _verify(self, request: Row) -> None:
        challenge, asked_at = new_challenge(), self._store.clock.now()
        confirmed, answered = False, True
        try:
            reply = await self._ask(request, challenge)
            result = reply.error or f"status {reply.status}"
            confirmed = is_confirmed(reply, challenge)
        except Unusable as error:
            result = f"secret: {error}"
        except RequestFailed as error:
            result = str(error)
            answered = result.startswith("guard:")
        if not answered:
            await self._store.write(websub_requests.retry_later, request, result)
        elif request["mode"] == "denied":
            await self._store.write(websub_requests.complete, request, result)
        elif confirmed:
            await self._store.write(websub_requests.complete, request, "verified", asked_at)
        else:
            await self._store.write(websub_requests.complete, request, f"not verified: {result}")
        self._claimed_ids.discard(request["id"])

    async def _ask(self, request: Row, challenge: str) -> FetchedResponse:
        token = None
        if request["verify_token"] is not None:
            token = await self._store.read(websub_requests.verify_token_of, request)
        return await ask_callback(
            self._client,
            request["callback"],
            verification_query(request, challenge, token),
            self._settings.timeout,
        )

    async def stop(self) -> None:
        """Start nothing more, and release the tasks under way."""
        self._stopping = True
        if self._timer is not None:
            self._timer.cancel()
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.gather(self._polling, return_exceptions=True)
        for tasks in (self._verifications, self._fetches):
            await tasks.stop()
        if self._claimed_ids:
            with contextlib.suppress(StoreError):
                await self._store.write(websub_requests.release, [*self._claimed_ids])
