"""TLS connections are reused: deliveries take no more handshakes than the most requests that were
in flight at once.
"""

from collections.abc import Iterator

from store import Connection
from tests.benchmarks.harness import apart, pipeline
from tests.benchmarks.harness.figure import Bench, Row
from tests.benchmarks.harness.receiver import receiving

MANY, SUBSCRIBERS = 500, 10


def measure(bench: Bench) -> Iterator[Row]:
    """Handshakes in the recorded attempts, and deliveries for each of them."""
    total = MANY * SUBSCRIBERS
    name = f"TLS, {MANY:,} x {SUBSCRIBERS}"
    bench.said(name)
    given = {"many": MANY, "subscribers": SUBSCRIBERS, "look": apart.name_of(look)}
    with receiving(bench, tls=True) as port:
        found = [apart.call(pipeline.deliver, port=port, tls=True, **given) for _ in range(3)]
    worst = max(found, key=lambda ran: ran["found"][0] / ran["found"][1])
    handshakes, in_flight = worst["found"]
    yield Row(
        f"{name}: handshakes, of requests in flight at once", "", handshakes, in_flight,
        handshakes / in_flight, 1.0, more=False,
    )  # fmt: skip
    yield Row(f"{name}: deliveries a handshake", "", total / handshakes)


def look(db: Connection) -> list[int]:
    """Return the number of attempts with a handshake, and the most attempts at the same time."""
    handshakes = db.value("SELECT count(*) FROM attempt WHERE timings LIKE '%\"tls\"%'")
    spans = db.tuples("SELECT started_at, started_at + duration FROM attempt")
    changes = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return [int(handshakes), most]
