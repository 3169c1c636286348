"""The page `reference/metrics.md`: every metric."""

from hub.admin.store_gauges import StoreGauges
from hub.cli.manual.markdown import code, page, sentence, table
from hub.rest.metrics import HubMetrics
from store.database.metrics import AnyMetric, StoreMetrics
from worker.delivery.metrics import WorkerMetrics

INTRODUCTION = """\
`GET /metrics` shows these in the format of Prometheus. The settings `admin_access` and
`admin_bind` say who may read them. The metrics of the process itself (`process_…`, `python_…`) are
there as well. If hub and worker are separate processes, each shows only its own requests or
attempts."""
PARTS = (
    ("State of the installation", StoreGauges),
    ("Hub", HubMetrics),
    ("Database", StoreMetrics),
    ("Worker", WorkerMetrics),
)


def metrics() -> str:
    parts = ["# Metrics", INTRODUCTION]
    for title, made in PARTS:
        rows = [
            [code(one.name), one.kind, ", ".join(map(code, one.labels)), sentence(one.text)]
            for one in made()
        ]
        parts += [f"## {title}", table(["metric", "kind", "labels", "meaning"], rows)]
    return page(*parts)


def all_metrics() -> list[AnyMetric]:
    """Return all metrics of `/metrics`, except the metrics of the process itself."""
    return [metric for _, made in PARTS for metric in made()]
