"""One attempt at a delivery: build the request, send it, decide, and return the outcome."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from store import Store
from store.clock import SECOND
from store.delivery import deliveries
from store.delivery.outcomes.outcome import Outcome
from store.trace_context import TraceContext
from worker.delivery.answer_outcome import outcome_of, with_event
from worker.delivery.lane import Lane, QueuedDelivery
from worker.delivery.ordering_headers import with_ordering
from worker.delivery.payload import Payload
from worker.delivery.payload_cache import PayloadCache
from worker.delivery.spans import DeliverySpans
from worker.delivery.target import Target
from worker.endpoint_access.access import EndpointAccess
from worker.endpoint_access.exchange import exchange
from worker.endpoint_access.token_cache import TokenCache
from worker.http.answer import ExchangeResult, Withheld, internal_error
from worker.http.transport import HttpSender
from worker.senders.pool import SenderPool
from worker.signing.secret_rotation import SecretOverlap
from worker.signing.signatures import UNSIGNED, SigningRequest

log = logging.getLogger("tocsin.worker")


@dataclass(slots=True)
class SendChecks:
    """The lease of a delivery, and the checks right before it is sent (HttpSender)."""

    lease_id: int
    may_send: Callable[[], bool]
    may_reach: Callable[[str], bool]


class DeliverySender:
    """The sender of attempts, with payloads from `payloads` and tokens from `tokens`.

    With `spans`, each attempt is a span.
    """

    def __init__(
        self,
        store: Store,
        payloads: PayloadCache,
        sender: HttpSender,
        tokens: TokenCache,
        spans: DeliverySpans | None = None,
    ) -> None:
        self._store = store
        self._payloads = payloads
        self._sender = sender
        self._signing_sender = sender if isinstance(sender, SenderPool) else None
        self._tokens = tokens
        self._spans = spans

    async def attempt(
        self,
        target: Target | None,
        item: QueuedDelivery,
        lane: Lane,
        checks: SendChecks,
    ) -> Outcome | None:
        """Make one attempt. Return None if the delivery was marked dead instead.

        Raises Busy, Unavailable or Withheld (worker.http.transport.HttpSender) if nothing was sent
        yet. Every later error is in the outcome.
        """
        payload = (
            await target.payload(self._payloads, item.event_id, lane.next_events)
            if target
            else None
        )
        started = self._store.clock.now()
        reason = undeliverable_reason(target, payload, item, started)
        if reason is not None:
            await self._store.write_relaxed(
                deliveries.mark_dead, checks.lease_id, [item.delivery_id], reason
            )
            return None
        assert target is not None
        assert payload is not None
        span = None if self._spans is None else self._spans.start(payload, started)
        trace = payload.trace if span is None else span.context
        outcome = await self._send(target, payload, item, lane.hook_id, checks, started, trace)
        if self._spans is not None and span is not None:
            self._spans.end(span, target, payload, outcome)
        return outcome

    async def _send(
        self,
        target: Target,
        payload: Payload,
        item: QueuedDelivery,
        hook_id: int,
        checks: SendChecks,
        started: int,
        trace: TraceContext | None,
    ) -> Outcome:
        head, answer = "", None
        timestamp = started // SECOND
        overlap = target.signatures.overlap_at(timestamp)
        new_first = overlap is not None and overlap.new_first(item.delivery_id)
        signing = self._signing(target, overlap, payload, timestamp)
        try:
            rendered = target.render(payload, started)
            head = target.head(
                payload, rendered, timestamp, new_first=new_first, signed=signing is None
            )
            if item.turn is not None:
                head = with_ordering(head, item.turn)
            if trace is not None:
                head = target.with_trace(head, trace)
            plain = head
            if target.access is not None:
                head = target.access.recorded_head(plain)
            answer = await self.request(target, plain, rendered.body, checks, signing)
            if signing is not None:
                head = head.replace(UNSIGNED, answer.signatures, 1)
        except Withheld:
            raise
        except Exception as error:
            # A programming error costs this attempt only: the delivery is retried by schedule.
            log.exception("delivery %d to hook %d", item.delivery_id, hook_id)
            answer = answer or ExchangeResult()
            answer.error = internal_error(error)
        ended = self._store.clock.now()
        outcome = outcome_of(target, item, hook_id, checks.lease_id, answer, head, started, ended)
        if overlap is not None:
            outcome.taken = overlap.learn(item.delivery_id, new_first, answer.status)
        return with_event(outcome, target, payload, item)

    def _signing(
        self, target: Target, overlap: SecretOverlap | None, payload: Payload, timestamp: int
    ) -> SigningRequest | None:
        """Return what `post_unsigned` needs to sign. Return None if `Target.head` signs."""
        if self._signing_sender is None or overlap is not None or target.endpoint is None:
            return None
        material = target.signatures.material
        return None if material is None else (material, payload.guid, timestamp)

    def request(
        self,
        target: Target,
        head: str,
        body: bytes,
        checks: SendChecks,
        signing: SigningRequest | None = None,
    ) -> Awaitable[ExchangeResult]:
        """Send a request, with an access token if the endpoint demands one.

        With `signing`, the head is not signed yet.
        """
        if target.access is None:
            return self._post(target, head, body, checks, signing)
        return self._with_access(target, target.access, head, body, checks, signing)

    async def _with_access(
        self,
        target: Target,
        access: EndpointAccess,
        head: str,
        body: bytes,
        checks: SendChecks,
        signing: SigningRequest | None,
    ) -> ExchangeResult:
        def send(sent: str, seconds: float) -> Awaitable[ExchangeResult]:
            return self._post(target, sent, body, checks, signing, seconds)

        if target.endpoint is None:
            return await send(head, 0)
        return await exchange(self._tokens, access, head, target.policy.timeout, send)

    async def _post(
        self,
        target: Target,
        head: str,
        body: bytes,
        checks: SendChecks,
        signing: SigningRequest | None,
        seconds: float | None = None,
    ) -> ExchangeResult:
        if target.endpoint is None:
            return ExchangeResult.failed(target.refusal)
        deadline = target.policy.timeout if seconds is None else seconds
        if signing is not None and self._signing_sender is not None:
            return await self._signing_sender.post_unsigned(
                target.endpoint,
                head,
                body,
                signing,
                deadline=deadline,
                verify_tls=target.verify_tls,
                may_send=checks.may_send,
                may_reach=checks.may_reach,
            )
        return await self._sender.post(
            target.endpoint,
            head.encode("latin-1"),
            body,
            deadline=deadline,
            verify_tls=target.verify_tls,
            may_send=checks.may_send,
            may_reach=checks.may_reach,
        )


def undeliverable_reason(
    target: Target | None, payload: Payload | None, item: QueuedDelivery, now: int
) -> str | None:
    """Return why the delivery cannot be tried. Return None if it can."""
    if target is None:
        return "the hook is gone"
    if target.over(now):
        return "the lease has ended"
    if payload is None:
        return target.lacking
    asked = bool(item.redelivery) and item.attempts == 0
    if not target.accepts(payload.name, asked=asked):
        return "the hook was deleted" if target.deleted else "the hook is not active"
    return None
