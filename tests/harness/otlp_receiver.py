"""A receiver of OTLP over HTTP on loopback, in place of an OpenTelemetry collector."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Message


def values(pairs: Any) -> dict[str, Any]:
    """Attributes as a dictionary."""
    return {pair.key: _value(pair) for pair in pairs}


def _value(pair: KeyValue) -> Any:
    return getattr(pair.value, str(pair.value.WhichOneof("value")))


@dataclass
class ReceivedSpan:
    """A span as it was received, with its resource's attributes."""

    message: Message
    resource: dict[str, Any]

    @property
    def name(self) -> str:
        return self.message.name

    @property
    def attributes(self) -> dict[str, Any]:
        return values(self.message.attributes)

    @property
    def place(self) -> tuple[str, str]:
        """The ids of the trace and the span."""
        return self.message.trace_id.hex(), self.message.span_id.hex()

    @property
    def parent(self) -> str:
        return self.message.parent_span_id.hex()

    @property
    def links(self) -> list[tuple[str, str]]:
        return [(link.trace_id.hex(), link.span_id.hex()) for link in self.message.links]

    @property
    def failed(self) -> bool:
        return self.message.status.code == 2


@dataclass
class OTLPReceiver:
    """The received requests. `status` is the status of each response."""

    url: str = ""
    status: int = 200
    requests: int = 0
    bodies: list[tuple[str, bytes]] = field(default_factory=list)
    opened: threading.Event = field(default_factory=threading.Event)
    """Requests are answered once this is set."""

    def spans(self, name: str = "") -> list[ReceivedSpan]:
        """The spans whose names begin with `name`, in the order of their start times."""
        found = [
            ReceivedSpan(span, values(part.resource.attributes))
            for path, body in list(self.bodies)
            if path == "/v1/traces"
            for part in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in part.scope_spans
            for span in scope.spans
            if span.name.startswith(name)
        ]
        return sorted(found, key=lambda span: span.message.start_time_unix_nano)

    def metrics(self) -> dict[str, Metric]:
        """The metrics of the latest request with metrics, by name."""
        received = [body for path, body in list(self.bodies) if path == "/v1/metrics"]
        if not received:
            return {}
        return {
            metric.name: metric
            for part in ExportMetricsServiceRequest.FromString(received[-1]).resource_metrics
            for scope in part.scope_metrics
            for metric in scope.metrics
        }


@contextmanager
def receiving() -> Iterator[OTLPReceiver]:
    """Run a receiver during the block."""
    receiver = OTLPReceiver()
    receiver.opened.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.requests += 1
            receiver.opened.wait()
            if receiver.status == 200:
                receiver.bodies.append((self.path, body))
            self.send_response(receiver.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the server's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.opened.set()
        server.shutdown()
        thread.join()
        server.server_close()
