"""Spans: the parts of a trace that this process takes. A tracer exports them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from store.trace_context import TraceContext

Kind = Literal["producer", "client", "internal"]
Value = str | bool | int | float


@dataclass(slots=True)
class Span:
    """A part of a trace that is under way."""

    name: str
    kind: Kind
    context: TraceContext
    """Its own place in the trace, for the requests that belong to it."""
    started_at: int
    """The start in microseconds."""
    parent: TraceContext | None = None
    links: Sequence[TraceContext] = ()
    sampled: bool = False
    """Whether it is exported even if it succeeds."""
    attributes: dict[str, Value] = field(default_factory=dict)


class Tracer(Protocol):
    """The exporter of spans. None of its methods waits or fails."""

    def start(
        self,
        name: str,
        kind: Kind,
        started_at: int,
        parent: TraceContext | None = None,
        links: Sequence[TraceContext] = (),
        sampled: bool | None = None,
    ) -> Span:
        """Return a new span. Without a parent, it begins a trace.

        If `sampled` is None, the sampler decides by the parent, or else by the first link.
        """
        ...

    def end(
        self,
        span: Span,
        ended_at: int,
        attributes: Mapping[str, Value],
        error: str | None = None,
    ) -> None:
        """Export a span with more attributes, if it is sampled or failed.

        `error` is the kind of the failure. None means success.
        """
        ...
