"""What the hub counts: requests at each door, events taken in, and who was turned away."""

from hub.auth.source_signatures import HEADERS as SIGNATURES
from hub.http.errors import Blocked, Exhausted, TooFast, Unauthenticated
from hub.rest.request import Request
from store.database.metrics import CounterMetric, GaugeMetric, HistogramMetric, MetricSet
from store.delivery.events import Receipt

ENTRANCES = ("topic", "events", "usage", "hub", "websub", "api", "reports", "ui", "admin", "other")
OUTCOMES = ("answered", "refused", "failed")
KINDS = {kind: kind for kind in ("token", "password", "app", "admin")}


class HubMetrics(MetricSet):
    """Outlives the application, which is made anew where settings change."""

    def __init__(self) -> None:
        self.requests = CounterMetric(
            "tocsin_requests_total",
            "Requests, by where they came in and status",
            ("door", "status"),
        )
        self.seconds = HistogramMetric(
            "tocsin_request_seconds",
            "Time to the answer, by where it was asked; refused is 4xx, failed is 5xx",
            labels=("door", "outcome"),
        )
        self.events = CounterMetric(
            "tocsin_events_total",
            "Events taken in (accepted), or known already (repeated)",
            ("outcome",),
            [("accepted",), ("repeated",)],
        )
        self.fanned_out = CounterMetric(
            "tocsin_deliveries_due_total", "Deliveries that the events taken in called for"
        )
        self.limited = CounterMetric(
            "tocsin_rate_limited_total",
            "Requests refused by a rate limit: of an hour (primary), or of pace (secondary)",
            ("limit",),
            [("primary",), ("secondary",)],
        )
        self.failed_logins = CounterMetric(
            "tocsin_failed_logins_total",
            "Credentials that were wrong, and those refused after too many (blocked)",
            ("kind",),
            [("token",), ("password",), ("app",), ("signature",), ("admin",), ("blocked",)],
        )
        self.connections = GaugeMetric("tocsin_connections", "Connections of clients")
        self.dropped = CounterMetric(
            "tocsin_connections_dropped_total",
            "Connections refused at the bound of all (full) or of one address (address), closed for"
            " a new one (evicted), or ended because the client was too slow (timeout)",
            ("reason",),
            [("full",), ("address",), ("evicted",), ("timeout",)],
        )

    def observe_request(self, door: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self.requests.add(door, str(status))
        self.seconds.add(seconds, door, OUTCOMES[max(status // 100 - 3, 0)])

    def took(self, receipts: list[Receipt]) -> None:
        """Count events that were taken in."""
        for receipt in receipts:
            if receipt.duplicate:
                self.events.add("repeated")
            else:
                self.events.add("accepted")
                self.fanned_out.add(many=receipt.deliveries)

    def refused(self, call: Request, error: Exception) -> None:
        """Count an error for which somebody was turned away, if it is one of those."""
        if isinstance(error, Exhausted):
            self.limited.add("primary")
        elif isinstance(error, TooFast):
            self.limited.add("secondary")
        elif isinstance(error, Unauthenticated):
            if b"authorization" in call.headers:
                self.failed_logins.add(KINDS.get(call.credentials, "token"))
            elif any(name in call.headers for name, _ in SIGNATURES):
                self.failed_logins.add("signature")
        elif isinstance(error, Blocked):
            self.failed_logins.add("blocked")
