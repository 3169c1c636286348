"""The alerts for Prometheus and the dashboard for Grafana speak of metrics that there are."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from hub.cli.reference import every_measure
from hub.cli.systemd_files import FOR_PROMETHEUS, directory
from store.measures import Measure, Tally

PROMTOOL = shutil.which("promtool")
RULES = directory() / FOR_PROMETHEUS[0]
DASHBOARD = directory() / FOR_PROMETHEUS[1]
NAME = re.compile(r"\b(?:tocsin|process)_[a-z_]+")
SELECTOR = re.compile(r"\b(tocsin_[a-z_]+)\{([^}]*)\}")
MATCHER = re.compile(r'(\w+)(?:=~|!~|!=|=)"([^"]*)"')
GROUPED = re.compile(r"\b(?:by|without) \(([^)]*)\)")
# What Prometheus adds to each, and the client library to histograms.
ADDED = {"job", "instance", "le"}
OF_PROCESS = {
    "process_open_fds", "process_max_fds", "process_resident_memory_bytes",
    "process_cpu_seconds_total",
}  # fmt: skip


def series() -> dict[str, Measure]:
    """What may be asked for, by name."""
    found: dict[str, Measure] = {}
    for measure in every_measure():
        names = [measure.name]
        if measure.kind == "histogram":
            names = [f"{measure.name}_{part}" for part in ("bucket", "count", "sum")]
        found |= dict.fromkeys(names, measure)
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
def test_they_ask_for_what_there_is(expression: str) -> None:
    known = series()
    for name in NAME.findall(expression):
        assert name in known or name in OF_PROCESS, name
    for name, matchers in SELECTOR.findall(expression):
        for label, value in MATCHER.findall(matchers):
            assert label in known[name].labels or label in ADDED, (name, label)
            check_value(known[name], label, value)


def check_value(measure: Measure, label: str, value: str) -> None:
    """Of what is known to be told, a value that is asked for is one."""
    if not isinstance(measure, Tally) or label not in measure.labels:
        return
    told = {values[measure.labels.index(label)] for values in measure.values()}
    if told:
        assert set(value.split("|")) <= told, (measure.name, value)


def test_groups_are_of_labels_that_there_are() -> None:
    labels = ADDED | {label for measure in every_measure() for label in measure.labels}
    for expression in expressions():
        for names in GROUPED.findall(expression):
            assert {name.strip() for name in names.split(",")} <= labels, expression


def test_what_they_do_not_show_is_little() -> None:
    asked = {name for expression in expressions() for name in NAME.findall(expression)}
    shown = {series()[name].name for name in asked if name in series()}
    assert {measure.name for measure in every_measure()} - shown == set()


def test_each_alert_says_what_to_do() -> None:
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
        assert not cells & taken, "panels lie on one another"
        taken |= cells


def test_installing_says_where_they_are(run: Any, tmp_path: Any) -> None:
    said = run("systemd", "install", "--prefix", tmp_path / "root").stdout
    for name in FOR_PROMETHEUS:
        assert str(directory() / name) in said
        assert (directory() / name).exists()
