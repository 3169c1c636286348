"""The spans of accepted events, and the trace context of the request that brings them."""

import contextlib
from collections.abc import Iterator, Sequence

from starlette.types import Scope

from store import trace_context
from store.clock import Clock
from store.delivery.incoming import IncomingEvent, Receipt
from store.errors import StoreError
from store.trace_context import TraceContext
from store.tracing import Span, Tracer, Value

# The most links of one span. Each event of a batch may come from another trace.
MOST_LINKS = 128
PARENT, STATE = b"traceparent", b"tracestate"


def trace_of(scope: Scope) -> TraceContext | None:
    """Return the trace context of a request. Return None if it has none, or an invalid one."""
    values: dict[bytes, list[str]] = {PARENT: [], STATE: []}
    for name, value in scope["headers"]:
        if name in values:
            values[name].append(value.decode("latin-1"))
    return trace_context.parse(values[PARENT], values[STATE]) if values[PARENT] else None


class EventSpans:
    """The spans of a hub. Without a tracer there are none, and events keep what came with them."""

    def __init__(self, tracer: Tracer | None, clock: Clock) -> None:
        self._tracer = tracer
        self._clock = clock

    @contextlib.contextmanager
    def accepting(
        self, arrivals: Sequence[IncomingEvent], trace: TraceContext | None
    ) -> Iterator[list[Receipt]]:
        """Open a span around a block that stores the events of one request.

        `trace` is the trace context of the request. Events without a trace of their own get the
        span's context. The block must add its receipts to the yielded list.
        """
        receipts: list[Receipt] = []
        if self._tracer is None:
            _inherit(arrivals, trace)
            yield receipts
            return
        own = {one.trace: None for one in arrivals if one.trace is not None}
        name = f"create {_destination(arrivals)}"
        span = self._tracer.start(name, "producer", self._clock.now(), trace, [*own][:MOST_LINKS])
        _inherit(arrivals, span.context)
        try:
            yield receipts
        except Exception as error:
            self._end(self._tracer, span, arrivals, receipts, _kind(error))
            raise
        self._end(self._tracer, span, arrivals, receipts)

    def _end(
        self,
        tracer: Tracer,
        span: Span,
        arrivals: Sequence[IncomingEvent],
        receipts: Sequence[Receipt],
        error: str | None = None,
    ) -> None:
        if error is not None or span.sampled:
            found = _attributes(arrivals) | _results(receipts)
            tracer.end(span, self._clock.now(), found, error)


def _inherit(arrivals: Sequence[IncomingEvent], trace: TraceContext | None) -> None:
    for arrival in arrivals:
        arrival.trace = arrival.trace or trace


def _destination(arrivals: Sequence[IncomingEvent]) -> str:
    """Return the name that all events have, or `events` if a batch has several names."""
    names = {arrival.name for arrival in arrivals}
    return names.pop() if len(names) == 1 else "events"


def _attributes(arrivals: Sequence[IncomingEvent]) -> dict[str, Value]:
    found: dict[str, Value] = {
        "messaging.system": "tocsin",
        "messaging.operation.name": "create",
        "messaging.operation.type": "create",
        "messaging.destination.name": _destination(arrivals),
    }
    if len(arrivals) != 1:
        return found | {"messaging.batch.message_count": len(arrivals)}
    (arrival,) = arrivals
    size = len(arrival.body)
    return found | {"messaging.message.id": arrival.guid, "messaging.message.body.size": size}


def _results(receipts: Sequence[Receipt]) -> dict[str, Value]:
    if not receipts:
        return {}
    found: dict[str, Value] = {"tocsin.deliveries": sum(one.deliveries for one in receipts)}
    if repeated := sum(one.duplicate for one in receipts):
        found["tocsin.events.repeated"] = repeated
    if len(receipts) == 1:
        found["tocsin.event.id"] = receipts[0].event_id
    return found


def _kind(error: Exception) -> str:
    """Return the kind of an error, and not its message, which may have parts of the request."""
    return type(error).__name__ if isinstance(error, StoreError) else "internal"
