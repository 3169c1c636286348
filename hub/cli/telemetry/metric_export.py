"""The periodic export of metrics."""

import asyncio
import contextlib
import os
import time

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData
from opentelemetry.sdk.resources import Resource

from hub.admin import metrics
from hub.admin.observability import Observability
from hub.admin.store_gauges import StoreGauges
from hub.cli.telemetry.failure_log import FailureLog
from hub.cli.telemetry.metrics import metrics_data
from hub.cli.telemetry.threads import in_thread

INTERVAL = "OTEL_METRIC_EXPORT_INTERVAL"
DEFAULT = 60_000.0


class MetricExport:
    """The export of a process's metrics, from `start` to `stop`.

    Raises ValueError if the interval in the environment is not a positive number.
    """

    def __init__(
        self,
        exporter: OTLPMetricExporter,
        resource: Resource,
        failures: FailureLog,
        observability: Observability,
    ) -> None:
        self._exporter = exporter
        self._resource = resource
        self._failures = failures
        self._observability = observability
        self._since = time.time_ns()
        self._gauges = StoreGauges()
        self._seconds = _interval() / 1000
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def start(self) -> None:
        """Export at each interval from now on."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Export the last values, and stop."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self._export()
        self.close()

    def close(self) -> None:
        """End the retries of an export under way."""
        if not self._closed:
            self._closed = True
            self._exporter.shutdown()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            await self._export()

    async def _export(self) -> None:
        try:
            data = await self._collected()
            await in_thread(lambda: self._send(data))
        except Exception as error:  # nothing here may end the export
            self._failures.failed("metrics", f"{type(error).__name__}: {error}")

    async def _collected(self) -> MetricsData:
        # This runs on the event loop, because gauges read values that the event loop changes.
        self._gauges.figures = await metrics.store_figures(self._observability)
        families = metrics.all_families(self._observability, self._gauges)
        return metrics_data(families, self._resource, self._since, time.time_ns())

    def _send(self, data: MetricsData) -> None:
        if self._exporter.export(data) is MetricExportResult.SUCCESS:
            self._failures.exported("metrics")


def _interval() -> float:
    given = float(os.environ.get(INTERVAL) or DEFAULT)
    if not 0 < given < float("inf"):
        raise ValueError(f"{INTERVAL} is {given:g}, and must be a number of milliseconds above 0")
    return given
