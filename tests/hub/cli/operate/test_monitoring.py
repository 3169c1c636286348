"""The alerts for Prometheus and the dashboard for Grafana use existing metrics."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hub.cli.install.systemd_files import FOR_PROMETHEUS, directory
from hub.cli.manual.metrics import all_metrics
from store.database.metrics import AnyMetric, CounterMetric

PROMTOOL = shutil.which("promtool")
RULES = directory() / FOR_PROMETHEUS[0]
DASHBOARD = directory() / FOR_PROMETHEUS[1]
NAME = re.compile(r"\b(?:tocsin|process)_[a-z_]+")
SELECTOR = re.compile(r"\b(tocsin_[a-z_]+)\{([^}]*)\}")
MATCHER = re.compile(r'(\w+)(?:=~|!~|!=|=)"([^"]*)"')
GROUPED = re.compile(r"\b(?:by|without) \(([^)]*)\)")
# The labels that Prometheus adds to each metric, and the client library to histograms.
ADDED = {"job", "instance", "le"}
OF_PROCESS = {
    "process_open_fds", "process_max_fds", "process_resident_memory_bytes",
    "process_cpu_seconds_total",
}  # fmt: skip


def series() -> dict[str, AnyMetric]:
    """The metrics of the hub and the worker, by the names of their series."""
    found: dict[str, AnyMetric] = {}
    for metric in all_metrics():
        names = [metric.name]
        if metric.kind == "histogram":
            names = [f"{metric.name}_{part}" for part in ("bucket", "count", "sum")]
        found |= dict.fromkeys(names, metric)
    return found


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return found


def expressions() -> Iterator[str]:
    for rule in rules():
        yield rule["expr"]
    for panel in panels():
        yield from (target["expr"] for target in panel["targets"])


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_expressions_name_existing_metrics(expression: str) -> None:
    known = series()
    for name in NAME.findall(expression):
        assert name in known or name in OF_PROCESS, name
    for name, matchers in SELECTOR.findall(expression):
        for label, value in MATCHER.findall(matchers):
            assert label in known[name].labels or label in ADDED, (name, label)
            check_value(known[name], label, value)


def check_value(metric: AnyMetric, label: str, value: str) -> None:
    """Check that a requested value is one of the known values of a metric."""
    if not isinstance(metric, CounterMetric) or label not in metric.labels:
        return
    reported = {values[metric.labels.index(label)] for values in metric.values()}
    if reported:
        for one in value.split("|"):
            assert any(re.fullmatch(one, known) for known in reported), (metric.name, value)


def test_groups_are_of_labels_that_there_are() -> None:
    labels = ADDED | {label for metric in all_metrics() for label in metric.labels}
    for expression in expressions():
        for names in GROUPED.findall(expression):
            assert {name.strip() for name in names.split(",")} <= labels, expression


def test_every_metric_is_used_by_an_expression() -> None:
    asked = {name for expression in expressions() for name in NAME.findall(expression)}
    shown = {series()[name].name for name in asked if name in series()}
    assert {metric.name for metric in all_metrics()} - shown == set()


def test_each_alert_has_a_severity_and_a_description() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(set(names)) == len(names) > 10
    for rule in rules():
        assert re.fullmatch(r"Tocsin[A-Z][A-Za-z]+", rule["alert"])
        assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "1m"))
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert set(rule["annotations"]) == {"summary", "description"}
        assert rule["expr"].count("(") == rule["expr"].count(")")


@pytest.mark.skipif(PROMTOOL is None, reason="needs promtool, of Prometheus")
def test_prometheus_takes_the_rules() -> None:
    assert PROMTOOL is not None
    done = subprocess.run(
        [PROMTOOL, "check", "rules", str(RULES)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


# For each alert, the series that make it fire within an hour, in promtool's notation.
FIRES = {
    "TocsinDown": {'up{job="tocsin"}': "0x60"},
    "TocsinStoreUnavailable": {"tocsin_store_up": "0x60"},
    "TocsinCommitsFail": {"tocsin_commit_failures_total": "0+1x60"},
    "TocsinDatabaseDamaged": {"tocsin_database_damaged": "1x60"},
    "TocsinDeliveriesLag": {'tocsin_delivery_lag_seconds{instance="b"}': "61x60"},
    "TocsinNoWorker": {"tocsin_workers": "0x60"},
    "TocsinSendersDie": {"tocsin_sender_deaths_total": "0+1x60"},
    "TocsinBacklogGrows": {
        'tocsin_backlog_deliveries{instance="a", state="due"}': "20000x60",
        'tocsin_oldest_due_seconds{instance="a"}': "0+60x60",
    },
    "TocsinDeliveriesFail": {
        'tocsin_attempts_total{result="connect"}': "0+9x60",
        'tocsin_attempts_total{result="2xx"}': "0+1x60",
    },
    "TocsinDeliveriesDie": {'tocsin_deliveries_total{outcome="dead"}': "0+1x60"},
    "TocsinHooksDisabled": {"tocsin_hooks_given_up_total": "0+1x60"},
    "TocsinKeyBlocked": {'tocsin_alerts_open{job="tocsin", kind="ordering.key_blocked"}': "1x60"},
    "TocsinEventsLeftOut": {'tocsin_events_left_out{job="tocsin"}': "0+1x60"},
    "TocsinMailsNotSent": {'tocsin_mails_total{outcome="failed"}': "0+1x60"},
    "TocsinEventsFail": {
        'tocsin_requests_total{door="topic", status="503"}': "0+2x60",
        'tocsin_requests_total{door="topic", status="202"}': "0+98x60",
    },
    "TocsinIngestSlow": {
        'tocsin_request_seconds_bucket{door="topic", outcome="answered", le="1.0"}': "0+1x60",
        'tocsin_request_seconds_bucket{door="topic", outcome="answered", le="+Inf"}': "0+9x60",
        'tocsin_request_seconds_bucket{door="topic", outcome="answered", le="2.5"}': "0+9x60",
    },
    "TocsinCommitsSlow": {
        'tocsin_commit_seconds_bucket{le="1.0"}': "0+1x60",
        'tocsin_commit_seconds_bucket{le="2.5"}': "0+9x60",
        'tocsin_commit_seconds_bucket{le="+Inf"}': "0+9x60",
    },
    "TocsinAlertsStand": {'tocsin_job_ended_timestamp_seconds{name="alerts"}': "0x60"},
    "TocsinNothingArrives": {
        'tocsin_events_total{outcome="accepted"}': "0+40x6 240x1001 240+40x6 480x1009",
    },
    "TocsinStateLags": {"tocsin_state_lag_seconds": "4000x60"},
    "TocsinCertificateEnds": {
        "tocsin_certificate_begins_timestamp_seconds": "-7000000x60",
        "tocsin_certificate_ends_timestamp_seconds": "600000x60",
    },
    "TocsinJobFails": {'tocsin_job_failures{name="prune"}': "3x60"},
    "TocsinLoginsFail": {'tocsin_failed_logins_total{kind="token"}': "0+20x60"},
    "TocsinConnectionsRefused": {
        'tocsin_connections_dropped_total{reason="full"}': "0+2x60",
    },
    "TocsinFileDescriptors": {
        'process_open_fds{job="tocsin"}': "90x60",
        'process_max_fds{job="tocsin"}': "100x60",
    },
}
# Alerts that compare with the weeks before: the time between two values, and when the alert fires.
LATER = {"TocsinNothingArrives": ("10m", "337h")}


def test_every_alert_is_tried() -> None:
    assert set(FIRES) == {rule["alert"] for rule in rules()}


@pytest.mark.skipif(PROMTOOL is None, reason="needs promtool, of Prometheus")
@pytest.mark.parametrize("alert", FIRES)
def test_the_alert_fires(alert: str, tmp_path: Path) -> None:
    assert PROMTOOL is not None
    given = [{"series": name, "values": values} for name, values in FIRES[alert].items()]
    count = f'count(ALERTS{{alertname="{alert}", alertstate="firing"}})'
    samples = [{"labels": "{}", "value": 1}]
    interval, time = LATER.get(alert, ("1m", "59m"))
    fired = {"expr": count, "eval_time": time, "exp_samples": samples}
    trial = {"interval": interval, "input_series": given, "promql_expr_test": [fired]}
    # Only this rule is in the file, because promtool evaluates each rule at each interval.
    group = {"name": "tried", "rules": [rule for rule in rules() if rule["alert"] == alert]}
    alone = tmp_path / "rules.yaml"
    alone.write_text(yaml.safe_dump({"groups": [group]}))
    path = tmp_path / "trial.yaml"
    path.write_text(
        yaml.safe_dump(
            {"rule_files": [str(alone)], "evaluation_interval": interval, "tests": [trial]}
        )
    )
    done = subprocess.run(
        [PROMTOOL, "test", "rules", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dashboard_is_whole() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    numbers = [panel["id"] for panel in panels()]
    assert len(set(numbers)) == len(numbers) > 10
    source = {"type": "prometheus", "uid": "${source}"}
    for panel in panels():
        assert panel["title"]
        assert panel["description"]
        assert panel["datasource"] == source
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert [target["refId"] for target in panel["targets"]] == [
            chr(ord("A") + at) for at in range(len(panel["targets"]))
        ]
    assert [one["name"] for one in dashboard["templating"]["list"]] == ["source", "job"]
    check_places([panel["gridPos"] for panel in panels()])


def check_places(places: list[dict[str, int]]) -> None:
    taken: set[tuple[int, int]] = set()
    for place in places:
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, "panels overlap"
        taken |= cells


def test_installing_says_where_they_are(run: Any, tmp_path: Any) -> None:
    said = run("systemd", "install", "--prefix", tmp_path / "root").stdout
    for name in FOR_PROMETHEUS:
        assert str(directory() / name) in said
        assert (directory() / name).exists()
