"""The worker's metrics: attempts and their results, jobs, and waiting deliveries."""

from collections import Counter
from collections.abc import Sequence

from store.clock import SECOND
from store.database.metrics import CounterMetric, GaugeMetric, HistogramMetric, MetricSet
from store.delivery.outcomes.outcome import Outcome
from store.ordering.delivery_states import DELIVERED

# Bounds in seconds. With retries, a delivery may take days.
LATENCY_BUCKETS = (
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1,
    2.5,
    5,
    10,
    30,
    60,
    300,
    1800,
    7200,
    86_400,
)
ATTEMPT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
# The stages in which an attempt may fail. Every other stage counts as `other`.
STAGES = ("guard", "secret", "token", "resolve", "connect", "tls", "send", "wait", "read", "batch")
RESULTS = ("2xx", "3xx", "4xx", "5xx", "timeout", "protocol", "internal", "other", *STAGES)


class WorkerMetrics(MetricSet):
    """The worker's metrics.

    They are updated for each group of recorded outcomes, because that is cheaper than an update for
    each delivery.
    """

    def __init__(self) -> None:
        self.deliveries = CounterMetric(
            "tocsin_deliveries_total",
            "Deliveries that ended: delivered, dead (last attempt failed), dropped (not sendable);"
            " without pull hooks",
            ("outcome",),
            [("delivered",), ("dead",), ("dropped",)],
        )
        self.attempts = CounterMetric(
            "tocsin_attempts_total",
            "Attempts, by the status of the answer or the stage in which they failed; without pull"
            " hooks",
            ("result",),
            [(result,) for result in RESULTS],
        )
        self.latency = HistogramMetric(
            "tocsin_delivery_seconds",
            "Time from accepting an event to having delivered it to a hook for the first time;"
            " without pull hooks",
            LATENCY_BUCKETS,
        )
        self.durations = HistogramMetric(
            "tocsin_attempt_seconds",
            "Time that an attempt took; without pull hooks",
            ATTEMPT_BUCKETS,
        )
        self.disabled = CounterMetric(
            "tocsin_hooks_given_up_total",
            "Hooks disabled: gone (410), at the receiver's wish, or failing for too long",
        )
        self.jobs = CounterMetric(
            "tocsin_job_runs_total", "Runs of scheduled jobs in this process", ("name", "outcome")
        )
        self.mails = CounterMetric(
            "tocsin_mails_total",
            "Attempts to send mails, by outcome: sent, delayed (tried again), failed",
            ("outcome",),
            [("sent",), ("delayed",), ("failed",)],
        )
        self.in_flight = GaugeMetric("tocsin_attempts_in_flight", "Attempts under way")
        self.sender_processes = GaugeMetric(
            "tocsin_sender_processes", "Processes beside this one that sign and send deliveries"
        )
        self.sender_deaths = CounterMetric(
            "tocsin_sender_deaths_total",
            "Sender processes that died, or were ended because they hung",
        )
        self.buffered = GaugeMetric(
            "tocsin_deliveries_in_hand", "Deliveries in memory that wait for their turn"
        )
        self.cooling_down = GaugeMetric(
            "tocsin_endpoints_resting", "Hooks whose circuit breakers are open after failures"
        )
        self.held = GaugeMetric(
            "tocsin_hooks_held_by_host",
            "Hooks with deliveries that wait because their host is at its limit of requests in "
            "flight",
        )

    def recorded(self, outcomes: Sequence[Outcome], disabled: int) -> None:
        """Count recorded attempts, and the hooks that they disabled."""
        results = Counter([o.status_code if o.error is None else o.error for o in outcomes])
        for what, many in results.items():
            self.attempts.add(_result(what), many=many)
        self.durations.observe_all([o.duration / SECOND for o in outcomes])
        self.deliveries.add("delivered", many=sum([o.state == DELIVERED for o in outcomes]))
        self.deliveries.add("dead", many=sum([o.died for o in outcomes]))
        self.latency.observe_all(
            [
                (o.ended_at - o.accepted_at) / SECOND
                for o in outcomes
                if o.state == DELIVERED and o.accepted_at is not None
            ]
        )
        self.disabled.add(many=disabled)


def _result(said: int | str | None) -> str:
    if isinstance(said, str):
        return stage_of(said)
    return f"{said // 100}xx" if said is not None and 200 <= said < 600 else "other"


def stage_of(error: str) -> str:
    """Return the stage of an attempt's error ("stage: message"). Return `other` if it is
    unknown.
    """
    stage = error.partition(":")[0]
    return stage if stage in RESULTS else "other"
