"""The store's latest figures as metrics."""

from collections.abc import Callable

from hub import __version__
from store.clock import SECOND
from store.database.metrics import GaugeMetric, GaugeValue, MetricSet
from store.monitoring.stats import MOST, DeliveryStats


class StoreGauges(MetricSet):
    """Gauges of the store. `figures` are the latest ones; None if the store did not answer."""

    def __init__(self) -> None:
        self.figures: DeliveryStats | None = None
        self.info = GaugeMetric(
            "tocsin_info",
            "The running version, as a label",
            ("version",),
            read=lambda: {(__version__,): 1},
        )
        self.up = GaugeMetric(
            "tocsin_store_up",
            "Whether the database answers (1) or not (0)",
            read=lambda: int(self.figures is not None),
        )
        self.backlog = GaugeMetric(
            "tocsin_backlog_deliveries",
            "Pending deliveries: due, later (waiting for their next attempt), or held by workers;"
            f" each counted up to {MOST:,}, without paused hooks and pull hooks",
            ("state",),
            read=self._of(
                lambda found: {("due",): found.due, ("later",): found.later, ("held",): found.held}
            ),
        )
        self.oldest = GaugeMetric(
            "tocsin_oldest_due_seconds",
            "How long the oldest due delivery has been due, without paused hooks and pull hooks",
            read=self._of(lambda found: found.age / SECOND),
        )
        self.lag = GaugeMetric(
            "tocsin_delivery_lag_seconds",
            "How long deliveries wait for workers; waiting for endpoints is not included",
            read=self._of(lambda found: found.lag / SECOND),
        )
        self.workers = GaugeMetric(
            "tocsin_workers",
            "Workers that use the database",
            read=self._of(lambda found: len(found.workers)),
        )
        self.failing = GaugeMetric(
            "tocsin_hooks_failing",
            "Hooks whose deliveries fail at present",
            read=self._of(lambda found: found.failing),
        )
        self.disabled = GaugeMetric(
            "tocsin_hooks_disabled",
            "Hooks that were disabled because they failed, or because the receiver asked for it",
            read=self._of(lambda found: found.disabled),
        )
        self.paused = GaugeMetric(
            "tocsin_hooks_paused",
            "Hooks that are paused",
            read=self._of(lambda found: found.paused),
        )
        self.alerts = GaugeMetric(
            "tocsin_alerts_open",
            "Open alerts, by the event that reported them",
            ("kind",),
            read=self._of(lambda found: {(kind,): many for kind, many in found.alerts.items()}),
        )
        self.events_left_out = GaugeMetric(
            "tocsin_events_left_out",
            "Events that could not be turned into state so far",
            read=self._of(lambda found: found.events_left_out),
        )
        self.state_lag = GaugeMetric(
            "tocsin_state_lag_seconds",
            "How long the oldest event that has not become state has waited for that;"
            " it grows if the setting `reflect` is off",
            read=self._of(lambda found: found.state_lag / SECOND),
        )
        self.job_ended = GaugeMetric(
            "tocsin_job_ended_timestamp_seconds",
            "When a scheduled job last ended",
            ("name",),
            read=self._of(
                lambda found: {
                    (job["name"],): job["ended_at"] / SECOND
                    for job in found.jobs
                    if job["ended_at"]
                }
            ),
        )
        self.job_failures = GaugeMetric(
            "tocsin_job_failures",
            "Consecutive failures of a scheduled job",
            ("name",),
            read=self._of(lambda found: {(job["name"],): job["failures"] for job in found.jobs}),
        )

    def _of(self, figure: Callable[[DeliveryStats], GaugeValue]) -> Callable[[], GaugeValue]:
        """Return a function that reads one of the latest figures; None if there are none."""
        return lambda: None if self.figures is None else figure(self.figures)
