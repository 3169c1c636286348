"""The export of traces and metrics while a daemon runs."""

import contextlib
import logging
import os
from collections.abc import AsyncIterator

from hub.admin.observability import Observability
from hub.cli.telemetry.signals import wanted_signals
from store.tracing import Tracer

log = logging.getLogger("tocsin.telemetry")


@contextlib.asynccontextmanager
async def running_telemetry(observability: Observability) -> AsyncIterator[Tracer | None]:
    """Export what the variables of OpenTelemetry ask for during the block. Yield the tracer.

    It is None if no traces are exported. Raises Unusable if a variable has an impossible value.
    """
    signals, problems = wanted_signals(os.environ)
    for problem in problems:
        log.warning("%s", problem)
    if not signals:
        yield None
        return
    try:
        from hub.cli.telemetry.export import Export
    except ImportError as error:
        log.warning(
            "%s are not exported: they need the extra otel (%s): install tocsin[otel]",
            " and ".join(signals),
            error,
        )
        yield None
        return
    export = Export(signals, observability)
    try:
        yield export.tracer
    finally:
        await export.stop()
