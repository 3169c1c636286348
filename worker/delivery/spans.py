"""The spans of deliveries: each attempt, and the recording of outcomes."""

from collections.abc import Iterable, Sequence

from store.clock import MINUTE, SECOND
from store.delivery.outcomes.outcome import Outcome
from store.ordering.delivery_states import DELIVERED
from store.trace_context import SAMPLED
from store.tracing import Kind, Span, Tracer, Value
from worker.delivery.metrics import stage_of
from worker.delivery.payload import Payload
from worker.delivery.target import Target

SYSTEM = "tocsin"
# An attempt that begins more microseconds than this after the event has a trace of its own, because
# backends do not wait longer for the rest of a trace.
LATE = MINUTE
HIDDEN = "REDACTED"


class DeliverySpans:
    """The spans of a worker."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def start(self, payload: Payload, now: int) -> Span:
        """Return the span of an attempt. `now` is in microseconds.

        An attempt soon after the event is part of the event's trace. Each attempt has a link to the
        event.
        """
        return self._start("POST", "client", payload, now)

    def _start(self, name: str, kind: Kind, payload: Payload, now: int) -> Span:
        origin = payload.trace
        if origin is None:
            return self._tracer.start(name, kind, now)
        late = payload.accepted_at is not None and now - payload.accepted_at > LATE
        return self._tracer.start(name, kind, now, None if late else origin, [origin])

    def end(self, span: Span, target: Target, payload: Payload, outcome: Outcome) -> None:
        """End the span of an attempt. A failed attempt is always exported."""
        error = None if outcome.state == DELIVERED else _failure(outcome)
        if error is None and not span.sampled:
            return
        found = _request(target, outcome) | _message(payload, outcome)
        self._tracer.end(span, outcome.ended_at, found, error)
        outcome.trace = span.context

    def fetched(self, payload: Payload, outcome: Outcome) -> None:
        """Export the span of an attempt of a pull hook: from the lease to the answer."""
        span = self._start("fetch", "internal", payload, outcome.started_at)
        error = None if outcome.state == DELIVERED else _failure(outcome)
        if error is None and not span.sampled:
            return
        found = _answer(outcome) | _message(payload, outcome)
        self._tracer.end(span, outcome.ended_at, found, error)

    def start_batch(self, payloads: Iterable[Payload], now: int) -> Span:
        """Return the span of a request with several events. `now` is in microseconds.

        It begins a trace, and has a link to each of the events. It is sampled if one of them is.
        """
        origins = {payload.trace: None for payload in payloads if payload.trace is not None}
        # The sampler decides by the first one.
        links = sorted(origins, key=lambda origin: not origin.flags & SAMPLED)
        return self._tracer.start("POST", "client", now, None, links)

    def end_batch(self, span: Span, target: Target, outcomes: Sequence[Outcome]) -> None:
        """End the span of a request. It is always exported if one of the deliveries failed."""
        failed = next((one for one in outcomes if one.state != DELIVERED), None)
        if failed is None and not span.sampled:
            return
        first = failed or outcomes[0]
        found = _request(target, first) | {"messaging.batch.message_count": len(outcomes)}
        error = None if failed is None else _failure(failed)
        self._tracer.end(span, first.ended_at, found, error)
        for outcome in outcomes:
            outcome.trace = span.context

    def recorded(self, outcomes: Sequence[Outcome], started_at: int, ended_at: int) -> None:
        """Export the span of a recording, with a link to each of its attempts that is exported."""
        attempts = {one.trace: None for one in outcomes if one.trace is not None}
        if not attempts:
            return
        span = self._tracer.start("settle", "internal", started_at, None, [*attempts], sampled=True)
        found: dict[str, Value] = {
            "messaging.system": SYSTEM,
            "messaging.operation.name": "settle",
            "messaging.operation.type": "settle",
            "messaging.batch.message_count": len(outcomes),
        }
        self._tracer.end(span, ended_at, found)


def _failure(outcome: Outcome) -> str:
    """Return the status or the stage. The rest of an error may come from outside."""
    return str(outcome.status_code) if outcome.error is None else stage_of(outcome.error)


def _request(target: Target, outcome: Outcome) -> dict[str, Value]:
    """Return the attributes of a request and its answer."""
    found: dict[str, Value] = {"http.request.method": "POST", "network.protocol.version": "1.1"}
    if outcome.address is not None:
        found["network.peer.address"] = outcome.address
    return found | _answer(outcome) | _place(target)


def _answer(outcome: Outcome) -> dict[str, Value]:
    """Return the attributes of an answer, and of the hook that it is for."""
    found: dict[str, Value] = {"messaging.system": SYSTEM}
    if outcome.hook_id > 0:
        found["tocsin.hook.id"] = outcome.hook_id
    if outcome.status_code is not None:
        found["http.response.status_code"] = outcome.status_code
    return found


def _message(payload: Payload, outcome: Outcome) -> dict[str, Value]:
    """Return the attributes of one event and its delivery."""
    found: dict[str, Value] = {
        "messaging.destination.name": payload.name,
        "tocsin.event.id": outcome.event_id,
        "tocsin.delivery.id": outcome.delivery_id,
        "tocsin.attempt.number": outcome.number,
    }
    if payload.guid:
        found["messaging.message.id"] = payload.guid
    if payload.accepted_at is not None:
        age = max(outcome.started_at - payload.accepted_at, 0)
        found["tocsin.event.age"] = age / SECOND
    if outcome.number > 1:
        found["http.request.resend_count"] = outcome.number - 1
    return found


def _place(target: Target) -> dict[str, Value]:
    """Return the receiver. Its path is left out: in the URLs of chats, it contains secrets."""
    endpoint = target.endpoint
    if endpoint is None:
        return {}
    path = "/" if endpoint.target == "/" else f"/{HIDDEN}"
    return {
        "server.address": endpoint.host,
        "server.port": endpoint.port,
        "url.full": f"{endpoint.scheme}://{endpoint.authority}{path}",
    }
