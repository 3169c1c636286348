"""The exporters of a process, and their end."""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from hub import __version__
from hub.admin.observability import Observability
from hub.cli.telemetry.failure_log import FailureLog, failures_logged
from hub.cli.telemetry.metric_export import MetricExport
from hub.cli.telemetry.signals import Signal
from hub.cli.telemetry.threads import in_thread
from hub.cli.telemetry.tracer import OpenTelemetryTracer
from store.errors import Unusable
from store.tracing import Tracer

log = logging.getLogger("tocsin.telemetry")

# Seconds for the last export. An exporter that does not answer must not hold up the end.
PATIENCE = 3.0


def resource() -> Resource:
    """Return the description of this process. The variables of OpenTelemetry come first."""
    own = {
        "service.name": "tocsin",
        "service.version": __version__,
        "service.instance.id": f"{socket.gethostname()}:{os.getpid()}",
    }
    return Resource.create(own).merge(OTELResourceDetector().detect())


class ReportingExporter(SpanExporter):
    """Exports spans with another exporter, and reports each success to the log of failures."""

    def __init__(self, exporter: SpanExporter, failures: FailureLog) -> None:
        self._exporter = exporter
        self._failures = failures
        self._ended = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self._failures.exported("traces")
        return result

    def shutdown(self) -> None:
        """End the retries of an export under way."""
        if not self._ended:
            self._ended = True
            self._exporter.shutdown()


class Export:
    """The export of some signals, until `stop`.

    Raises Unusable if a variable of OpenTelemetry has a wrong value.
    """

    tracer: Tracer | None = None

    def __init__(self, signals: Sequence[Signal], observability: Observability) -> None:
        self._logging = contextlib.ExitStack()
        self._ends: list[Callable[[], Awaitable[None]]] = []
        self._closes: list[Callable[[], None]] = []
        failures = self._logging.enter_context(failures_logged())
        try:
            described = resource()
            if "traces" in signals:
                self._trace(described, failures)
            if "metrics" in signals:
                self._count(described, failures, observability)
        except ValueError as error:
            self._logging.close()
            raise Unusable(f"a variable of OpenTelemetry is wrong: {error}") from None

    def _trace(self, described: Resource, failures: FailureLog) -> None:
        exporter = ReportingExporter(OTLPSpanExporter(), failures)
        processor = BatchSpanProcessor(exporter)
        self.tracer = OpenTelemetryTracer(described, processor)
        self._ends.append(partial(in_thread, processor.shutdown))
        self._closes.append(exporter.shutdown)

    def _count(
        self, described: Resource, failures: FailureLog, observability: Observability
    ) -> None:
        metrics = MetricExport(OTLPMetricExporter(), described, failures, observability)
        metrics.start()
        self._ends.append(metrics.stop)
        self._closes.append(metrics.close)

    async def stop(self) -> None:
        """Export the rest, within PATIENCE seconds. Errors are logged, and not raised."""
        try:
            async with asyncio.timeout(PATIENCE):
                found = await asyncio.gather(*(end() for end in self._ends), return_exceptions=True)
        except TimeoutError:
            # The exporters' threads may still log errors, so FailureLog stays in place for them.
            log.warning("the last traces or metrics are not exported: there was no answer in time")
            for close in self._closes:
                close()
            return
        for error in found:
            if error is not None:
                log.warning("the last traces or metrics are not exported: %r", error)
        self._logging.close()
