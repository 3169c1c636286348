"""The store's latest figures as metrics."""

from hub import __version__
from store.clock import SECOND
from store.database.metrics import GaugeMetric, GaugeValue, MetricSet
from store.monitoring.stats import MOST, DeliveryStats


class StoreGauges(MetricSet):
    """Gauges of the store. `figures` are the latest ones; None if the store did not answer."""

    def __init__(self) -> None:
        self.figures: DeliveryStats | None = None
        self.info = GaugeMetric("tocsin_info", "The running version, as a label", ("version",))
        self.up = GaugeMetric("tocsin_store_up", "Whether the database answers (1) or not (0)")
        self.backlog = GaugeMetric(
            "tocsin_backlog_deliveries",
            "Pending deliveries: due, later (waiting for their next attempt), or held by workers;"
            f" each counted up to {MOST:,}, without paused hooks and pull hooks",
            ("state",),
        )
        self.oldest = GaugeMetric(
            "tocsin_oldest_due_seconds",
            "How long the oldest due delivery has been due, without paused hooks and pull hooks",
        )
        self.lag = GaugeMetric(
            "tocsin_delivery_lag_seconds",
            "How long deliveries wait for workers; waiting for endpoints is not included",
        )
        self.workers = GaugeMetric("tocsin_workers", "Workers that use the database")
        self.failing = GaugeMetric("tocsin_hooks_failing", "Hooks whose deliveries fail at present")
        self.disabled = GaugeMetric(
            "tocsin_hooks_disabled",
            "Hooks that were disabled because they failed, or because the receiver asked for it",
        )
        self.paused = GaugeMetric("tocsin_hooks_paused", "Hooks that are paused")
        self.alerts = GaugeMetric(
            "tocsin_alerts_open", "Open alerts, by the event that reported them", ("kind",)
        )
        self.events_left_out = GaugeMetric(
            "tocsin_events_left_out",
            "Events that could not be turned into state so far",
        )
        self.state_lag = GaugeMetric(
            "tocsin_state_lag_seconds",
            "How long the oldest event that has not become state has waited for that;"
            " it grows if the setting `reflect` is off",
        )
        self.job_ended = GaugeMetric(
            "tocsin_job_ended_timestamp_seconds", "When a scheduled job last ended", ("name",)
        )
        self.job_failures = GaugeMetric(
            "tocsin_job_failures", "Consecutive failures of a scheduled job", ("name",)
        )
        self._connect()

    def _connect(self) -> None:
        self.info.read = lambda: {(__version__,): 1}
        self.up.read = lambda: 0 if self.figures is None else 1
        self.backlog.read = self._backlog
        self.oldest.read = lambda: None if self.figures is None else self.figures.age / SECOND
        self.lag.read = lambda: None if self.figures is None else self.figures.lag / SECOND
        self.workers.read = lambda: None if self.figures is None else len(self.figures.workers)
        self.failing.read = lambda: None if self.figures is None else self.figures.failing
        self.disabled.read = lambda: None if self.figures is None else self.figures.disabled
        self.paused.read = lambda: None if self.figures is None else self.figures.paused
        self.alerts.read = self._alerts
        self.events_left_out.read = lambda: self.figures.events_left_out if self.figures else None
        self.state_lag.read = lambda: self.figures.state_lag / SECOND if self.figures else None
        self.job_ended.read = self._job_ended
        self.job_failures.read = self._job_failures

    def _backlog(self) -> GaugeValue:
        found = self.figures
        if found is None:
            return None
        return {("due",): found.due, ("later",): found.later, ("held",): found.held}

    def _alerts(self) -> GaugeValue:
        return {} if self.figures is None else {(k,): n for k, n in self.figures.alerts.items()}

    def _job_ended(self) -> GaugeValue:
        jobs = self.figures.jobs if self.figures else []
        return {(job["name"],): job["ended_at"] / SECOND for job in jobs if job["ended_at"]}

    def _job_failures(self) -> GaugeValue:
        jobs = self.figures.jobs if self.figures else []
        return {(job["name"],): job["failures"] for job in jobs}
