"""The tracer that exports spans with OpenTelemetry.

The library's span is made only when the operation has ended. A failed span can then be exported
although the sampler left it out, and spans that are not exported cost little.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Decision, SamplingResult
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
    set_span_in_context,
)

from hub import __version__
from store.trace_context import TraceContext
from store.tracing import Kind, Span, Value

KINDS = {
    "producer": SpanKind.PRODUCER,
    "client": SpanKind.CLIENT,
    "internal": SpanKind.INTERNAL,
}
# Says that the trace's id is random (Trace Context, level 2).
RANDOM = TraceFlags.RANDOM_TRACE_ID
NANOSECONDS = 1000


class ChosenIds(RandomIdGenerator):
    """The ids of the next span, which were chosen when it began."""

    trace_id = span_id = 0

    def generate_trace_id(self) -> int:
        return self.trace_id

    def generate_span_id(self) -> int:
        return self.span_id


class OpenTelemetryTracer:
    """The tracer of a process. Only the event loop may call it."""

    def __init__(self, resource: Resource, processor: SpanProcessor) -> None:
        # A provider that is made without a sampler reads the environment variables for one.
        self._sampler = TracerProvider(resource=resource, shutdown_on_exit=False).sampler
        self._random, self._ids = RandomIdGenerator(), ChosenIds()
        provider = TracerProvider(
            # Only spans that are exported are made.
            sampler=ALWAYS_ON,
            resource=resource,
            shutdown_on_exit=False,
            id_generator=self._ids,
        )
        provider.add_span_processor(processor)
        self._tracer = provider.get_tracer("tocsin", __version__)

    def start(
        self,
        name: str,
        kind: Kind,
        started_at: int,
        parent: TraceContext | None = None,
        links: Sequence[TraceContext] = (),
        sampled: bool | None = None,
    ) -> Span:
        """Return a new span. See store.tracing.Tracer."""
        trace_id = parent.trace_id if parent else self._random.generate_trace_id()
        attributes, state = {}, parent.state if parent else ""
        if sampled is None:
            origin = parent or next(iter(links), None)
            decided = self._decided(name, kind, origin, trace_id, links)
            sampled = decided.decision is Decision.RECORD_AND_SAMPLE
            attributes = dict(decided.attributes)
        flags = (parent.flags & RANDOM if parent else RANDOM) | sampled
        span_id = self._random.generate_span_id()
        context = TraceContext(f"00-{trace_id:032x}-{span_id:016x}-{flags:02x}", state)
        return Span(name, kind, context, started_at, parent, links, sampled, attributes)

    def _decided(
        self,
        name: str,
        kind: Kind,
        origin: TraceContext | None,
        trace_id: int,
        links: Sequence[TraceContext],
    ) -> SamplingResult:
        """Return the sampler's decision.

        If there is an origin, it is made for the origin's trace. Then both traces are exported, or
        neither.
        """
        return self._sampler.should_sample(
            _in(origin),
            trace_id if origin is None else origin.trace_id,
            name,
            KINDS[kind],
            {},
            [Link(_remote(link)) for link in links],
        )

    def end(
        self,
        span: Span,
        ended_at: int,
        attributes: Mapping[str, Value],
        error: str | None = None,
    ) -> None:
        """Export a span if it is sampled or failed. See store.tracing.Tracer."""
        if error is None and not span.sampled:
            return
        self._ids.trace_id, self._ids.span_id = span.context.trace_id, span.context.span_id
        found = {**span.attributes, **attributes}
        if error is not None:
            found["error.type"] = error
        made = self._tracer.start_span(
            span.name,
            _in(span.parent),
            KINDS[span.kind],
            found,
            [Link(_remote(link)) for link in span.links],
            span.started_at * NANOSECONDS,
        )
        if error is not None:
            made.set_status(Status(StatusCode.ERROR))
        made.end(ended_at * NANOSECONDS)


# Cached, because all attempts of an event have the same places, and the library would check each
# place again.
@lru_cache(maxsize=4096)
def _remote(place: TraceContext) -> SpanContext:
    state = TraceState.from_header([place.state]) if place.state else None
    flags = TraceFlags(place.flags)
    return SpanContext(place.trace_id, place.span_id, True, flags, state)


@lru_cache(maxsize=4096)
def _in(place: TraceContext | None) -> Context:
    """Return the library's context of this place, never the one that happens to be current."""
    if place is None:
        return Context()
    return set_span_in_context(NonRecordingSpan(_remote(place)), Context())
