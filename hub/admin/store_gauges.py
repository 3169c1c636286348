"""The store's figures as measures: how things stand with it, as it was asked last."""

from importlib.metadata import version

from store.clock import SECOND
from store.database.metrics import GaugeMetric, GaugeValue, MetricSet
from store.monitoring.stats import MOST, DeliveryStats


class StoreGauges(MetricSet):
    """`figures` is what was found last; None where the store could not be asked."""

    def __init__(self) -> None:
        self.figures: DeliveryStats | None = None
        self.info = GaugeMetric("tocsin_info", "The version that runs, as a label", ("version",))
        self.up = GaugeMetric("tocsin_store_up", "Whether the database answers: 1, or 0")
        self.backlog = GaugeMetric(
            "tocsin_backlog_deliveries",
            "Deliveries without an outcome: due, later (for the next attempt), or held by workers;"
            f" counted up to {MOST:,}",
            ("state",),
        )
        self.oldest = GaugeMetric(
            "tocsin_oldest_due_seconds", "Age of the delivery that has been due for longest"
        )
        self.lag = GaugeMetric(
            "tocsin_delivery_lag_seconds",
            "For how long deliveries wait for workers, and not for their endpoints",
        )
        self.workers = GaugeMetric("tocsin_workers", "Workers at work on the database")
        self.failing = GaugeMetric(
            "tocsin_hooks_failing", "Hooks to which deliveries fail at present"
        )
        self.disabled = GaugeMetric("tocsin_hooks_disabled", "Hooks that were disabled for failing")
        self.job_ended = GaugeMetric(
            "tocsin_job_ended_timestamp_seconds", "When a scheduled job ended last", ("name",)
        )
        self.job_failures = GaugeMetric(
            "tocsin_job_failures", "How often in a row a scheduled job has failed", ("name",)
        )
        self._connect()

    def _connect(self) -> None:
        self.info.read = lambda: {(version("tocsin"),): 1}
        self.up.read = lambda: 0 if self.figures is None else 1
        self.backlog.read = self._backlog
        self.oldest.read = lambda: None if self.figures is None else self.figures.age / SECOND
        self.lag.read = lambda: None if self.figures is None else self.figures.lag / SECOND
        self.workers.read = lambda: None if self.figures is None else len(self.figures.workers)
        self.failing.read = lambda: None if self.figures is None else self.figures.failing
        self.disabled.read = lambda: None if self.figures is None else self.figures.disabled
        self.job_ended.read = self._job_ended
        self.job_failures.read = self._job_failures

    def _backlog(self) -> GaugeValue:
        found = self.figures
        if found is None:
            return None
        return {("due",): found.due, ("later",): found.later, ("held",): found.held}

    def _job_ended(self) -> GaugeValue:
        jobs = self.figures.jobs if self.figures else []
        return {(job["name"],): job["ended_at"] / SECOND for job in jobs if job["ended_at"]}

    def _job_failures(self) -> GaugeValue:
        jobs = self.figures.jobs if self.figures else []
        return {(job["name"],): job["failures"] for job in jobs}
