"""The trace context of a request that brings events."""

from starlette.types import Scope

from store import trace_context
from store.trace_context import TraceContext

PARENT, STATE = b"traceparent", b"tracestate"


def trace_of(scope: Scope) -> TraceContext | None:
    """Return the trace context of a request. Return None if it has none, or an invalid one."""
    values: dict[bytes, list[str]] = {PARENT: [], STATE: []}
    for name, value in scope["headers"]:
        if name in values:
            values[name].append(value.decode("latin-1"))
    return trace_context.parse(values[PARENT], values[STATE]) if values[PARENT] else None
