"""The hub's metrics: requests, accepted events, rejected requests."""

from hub.auth.source_signatures import HEADERS as SIGNATURES
from hub.http.errors import Blocked, Exhausted, TooFast, Unauthenticated
from hub.rest.request import Request
from store.database.metrics import (
    MOST_SERIES,
    OTHER,
    CounterMetric,
    GaugeMetric,
    HistogramMetric,
    MetricSet,
)
from store.delivery.incoming import Receipt

OUTCOMES = ("answered", "refused", "failed")
KINDS = {kind: kind for kind in ("token", "password", "app", "signature", "admin")} | {"jwt": "app"}


class HubMetrics(MetricSet):
    """The hub's metrics. They outlive the application, which is rebuilt when settings change."""

    def __init__(self) -> None:
        self.requests = CounterMetric(
            "tocsin_requests_total",
            "Requests, by endpoint group and status",
            ("door", "status"),
            # The alert rule compares the errors of these groups with all of their requests.
            [(door, status) for door in ("topic", "events") for status in ("202", "500", "503")],
        )
        self.seconds = HistogramMetric(
            "tocsin_request_seconds",
            "Time to the response, by endpoint group; refused is 4xx, failed is 5xx",
            labels=("door", "outcome"),
        )
        self.events = CounterMetric(
            "tocsin_events_total",
            "Events accepted, or ignored because they were known already (repeated)",
            ("outcome",),
            [("accepted",), ("repeated",)],
        )
        self.fanned_out = CounterMetric(
            "tocsin_deliveries_due_total", "Deliveries created for accepted events"
        )
        self.filtered = CounterMetric(
            "tocsin_deliveries_filtered_total",
            "Deliveries of accepted events that a hook's filter left out, by the hook's id"
            f" ({OTHER}: all hooks beyond {MOST_SERIES:,})",
            ("hook",),
        )
        self.limited = CounterMetric(
            "tocsin_rate_limited_total",
            "Requests rejected by a category's rate limit (primary) or a secondary limit",
            ("limit",),
            [("primary",), ("secondary",)],
        )
        self.failed_logins = CounterMetric(
            "tocsin_failed_logins_total",
            "Wrong credentials, and requests rejected after too many of them (blocked)",
            ("kind",),
            [(kind,) for kind in (*dict.fromkeys(KINDS.values()), "openid", "blocked")],
        )
        self.connections = GaugeMetric("tocsin_connections", "Open client connections")
        self.certificate_begins = GaugeMetric(
            "tocsin_certificate_begins_timestamp_seconds",
            "Since when the certificate is valid that the hub serves HTTPS with; absent without"
            " HTTPS",
        )
        self.certificate_ends = GaugeMetric(
            "tocsin_certificate_ends_timestamp_seconds",
            "When the certificate ends that the hub serves HTTPS with; absent without HTTPS",
        )
        self.dropped = CounterMetric(
            "tocsin_connections_dropped_total",
            "Connections refused at the total limit (full) or one address's (address), closed for"
            " a new one (evicted), or ended because the client was too slow (timeout)",
            ("reason",),
            [("full",), ("address",), ("evicted",), ("timeout",)],
        )

    def observe_request(self, door: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        self.requests.add(door, str(status))
        self.seconds.add(seconds, door, OUTCOMES[max(status // 100 - 3, 0)])

    def count_accepted(self, receipts: list[Receipt]) -> None:
        """Count accepted events and their deliveries."""
        for receipt in receipts:
            if receipt.duplicate:
                self.events.add("repeated")
            else:
                self.events.add("accepted")
                self.fanned_out.add(many=receipt.deliveries)
                for hook_id in receipt.filtered:
                    self.filtered.add(str(hook_id))

    def refused(self, request: Request, error: Exception) -> None:
        """Count an error if it is a rejection by rate limit or for wrong credentials."""
        if isinstance(error, Exhausted):
            self.limited.add("primary")
        elif isinstance(error, TooFast):
            self.limited.add("secondary")
        elif isinstance(error, Unauthenticated):
            if b"authorization" in request.headers:
                self.failed_logins.add(KINDS.get(request.credentials, "token"))
            elif any(name in request.headers for name, _ in SIGNATURES):
                self.failed_logins.add("signature")
        elif isinstance(error, Blocked):
            self.failed_logins.add("blocked")
