"""Trials: single requests to a receiver outside the queue, built and signed like deliveries."""

import asyncio

from store.clock import SECOND, Clock
from store.errors import Busy
from store.hooks.trial import TrialAnswer, TrialRequest
from worker.delivery.batches.request import Member, body_of, element_of, head_of
from worker.delivery.lane import QueuedDelivery
from worker.delivery.payload import Payload
from worker.delivery.target import Target
from worker.delivery.target_loader import make_target, signatures_of
from worker.endpoint_access.exchange import post
from worker.endpoint_access.token_cache import TokenCache
from worker.http.addresses import Refused
from worker.http.endpoint import Endpoint
from worker.http.guard import Guard
from worker.http.transport import HttpSender, Transport
from worker.settings import WorkerSettings

# A person waits for the answer, so a trial ends after this many seconds.
LONGEST = 10.0
AT_ONCE = 8


class TrialSender:
    """The sender of trials, at most AT_ONCE at a time."""

    def __init__(
        self, guard: Guard, settings: WorkerSettings, clock: Clock, sender: HttpSender | None = None
    ) -> None:
        self.settings = settings
        self._guard = guard
        self._clock = clock
        self._transport: Transport | None = None
        self._sender: HttpSender = sender or self._made()
        self._tokens = TokenCache(guard, self._sender, clock)
        self._running = 0

    def _made(self) -> Transport:
        self._transport = Transport(self._guard, idle_seconds=1, idle_total=AT_ONCE)
        return self._transport

    def build(self, trial: TrialRequest) -> TrialAnswer:
        """Return the request without sending it."""
        target, body, head = self._built(trial)
        return TrialAnswer(_shown(target, head), body, error=target.refusal or None)

    async def send(self, trial: TrialRequest) -> TrialAnswer:
        """Send the request and return the answer. Raises Busy if too many trials are under way."""
        if self._running >= AT_ONCE:
            raise Busy("too many trials are under way: try again in a moment")
        target, body, head = self._built(trial)
        if target.endpoint is None:
            return TrialAnswer(_shown(target, head), body, error=target.refusal)
        self._running += 1
        try:
            return await self._sent(target, target.endpoint, body, head)
        finally:
            self._running -= 1

    def _built(self, trial: TrialRequest) -> tuple[Target, bytes, str]:
        endpoint, refusal = None, ""
        try:
            endpoint = self._guard.endpoint(trial.url)
        except Refused as error:
            refusal = f"guard: {error}"
        row = trial.as_row()
        now = self._clock.now()
        signatures = signatures_of(row["options"], trial.secret, trial.keys)
        target = make_target(row, trial.secret, endpoint, refusal, self.settings, signatures, now)
        payload = Payload(trial.event, trial.guid, trial.body, accepted_at=now)
        payload.repo_id, payload.repository = trial.repo_id, trial.repository
        if target.policy.batch is not None:
            return target, *_alone(target, payload, now)
        rendered = target.render(payload, now)
        return target, rendered.body, target.head(payload, rendered, now // SECOND)

    async def _sent(
        self, target: Target, endpoint: Endpoint, body: bytes, head: str
    ) -> TrialAnswer:
        answer = await post(
            self._sender,
            self._tokens,
            target.access,
            endpoint,
            head,
            body,
            min(target.policy.timeout, LONGEST),
            target.verify_tls,
        )
        answered = answer.status is not None
        return TrialAnswer(
            _shown(target, head),
            body,
            answer.timings.get("total", 0),
            answer.status,
            answer.error,
            answer.address,
            target.readable_head(answer.head) if answered else None,
            target.readable_body(answer) if answered else None,
        )

    async def close(self) -> None:
        if self._transport is not None:
            await asyncio.shield(self._transport.close())


def _alone(target: Target, payload: Payload, now: int) -> tuple[bytes, str]:
    """Return the body and the head of a batch with this event alone."""
    members = [Member(QueuedDelivery(0, 0, 0, 0, 0), payload, element_of(target, payload, now))]
    body = body_of(members)
    return body, head_of(target, members, body, now // SECOND)


def _shown(target: Target, head: str) -> str:
    """Return the head of a request without secret values."""
    return head if target.access is None else target.access.recorded_head(head)
