"""Telemetry is exported while the daemon runs, and failed exports do not affect deliveries."""

import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
from otlp_receiver import OTLPReceiver
from ports import free_port
from waiting import until

from hub.admin.observability import Observability
from hub.cli.telemetry import export
from hub.cli.telemetry.running import running_telemetry
from store import Store
from store.errors import Unusable
from store.tracing import Tracer

LOGGER = "tocsin.telemetry"


@pytest.fixture
async def observability(store: Store) -> AsyncIterator[Observability]:
    made = Observability(store)
    yield made
    await made.close()


def record(tracer: Tracer | None, name: str) -> None:
    assert tracer is not None
    tracer.end(tracer.start(name, "internal", 1_000_000), 2_000_000, {})


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records]


async def test_without_a_variable_nothing_is_exported(
    observability: Observability, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    async with running_telemetry(observability) as tracer:
        assert tracer is None


async def test_a_failure_is_logged_once_and_so_is_its_end(
    observability: Observability, collector: OTLPReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    collector.status = 400
    async with running_telemetry(observability) as tracer:
        for _ in range(3):
            before = collector.requests
            record(tracer, "lost")
            await until(lambda before=before: collector.requests > before)
        collector.status = 200
        record(tracer, "kept")
        await until(collector.spans)
        await until(lambda: len(said(caplog)) >= 2)
    assert [span.name for span in collector.spans()] == ["kept"]
    failed, again = said(caplog)
    assert failed.startswith("traces cannot be exported, deliveries go on: ")
    assert "400" in failed
    assert again == "traces are exported again"


async def test_nobody_listens(
    observability: Observability, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.5")
    async with running_telemetry(observability) as tracer:
        record(tracer, "lost")
    signals = sorted(text.partition(" ")[0] for text in said(caplog) if "deliveries go on" in text)
    assert signals == ["metrics", "traces"]
    assert len(said(caplog)) == 2


async def test_a_receiver_that_hangs_does_not_hold_up_the_end(
    observability: Observability,
    collector: OTLPReceiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(export, "PATIENCE", 0.2)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "3600")
    collector.opened.clear()
    async with running_telemetry(observability) as tracer:
        record(tracer, "lost")
    assert said(caplog) == [
        "the last traces or metrics are not exported: there was no answer in time"
    ]
    assert collector.bodies == []


async def test_an_exporter_that_cannot_be_closed_does_not_hinder_the_end(
    observability: Observability,
    collector: OTLPReceiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(self: object) -> None:
        raise OSError("no more")

    monkeypatch.setattr(export.OTLPSpanExporter, "shutdown", fail)
    async with running_telemetry(observability) as tracer:
        record(tracer, "kept")
    assert [span.name for span in collector.spans()] == ["kept"]
    assert said(caplog) == ["the last traces or metrics are not exported: OSError('no more')"]


async def test_a_full_queue_drops_spans_and_is_logged_once(
    observability: Observability,
    collector: OTLPReceiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    # The library suppresses a message that it logged some seconds ago, also in another test.
    monkeypatch.setattr(logging.getLogger("opentelemetry.sdk._shared_internal"), "filters", [])
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "2")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")
    collector.opened.clear()
    async with running_telemetry(observability) as tracer:
        record(tracer, "first")
        await until(lambda: collector.requests == 1)
        for _ in range(50):
            record(tracer, "more")
        collector.opened.set()
    assert [span.name for span in collector.spans()] == ["first", "more", "more"]
    (full,) = said(caplog)
    assert "Queue full" in full


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_BSP_MAX_QUEUE_SIZE", "-1"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "soon"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "0"),
    ],
)
async def test_an_impossible_value_is_an_error_at_the_start(
    observability: Observability,
    collector: OTLPReceiver,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
) -> None:
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "otlp")
    monkeypatch.setenv(name, value)
    with pytest.raises(Unusable, match="a variable of OpenTelemetry is wrong"):
        async with running_telemetry(observability):
            pass


async def test_an_unsupported_wish_is_logged(
    observability: Observability,
    collector: OTLPReceiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    async with running_telemetry(observability) as tracer:
        assert tracer is None
    (text,) = said(caplog)
    assert text.startswith("traces are not exported: OTEL_EXPORTER_OTLP_PROTOCOL is 'grpc'")


async def test_the_extra_is_not_installed(
    observability: Observability,
    collector: OTLPReceiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for name in [name for name in sys.modules if name.startswith("hub.cli.telemetry.export")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    async with running_telemetry(observability) as tracer:
        assert tracer is None
    (text,) = said(caplog)
    assert text.startswith("traces are not exported: they need the extra otel (")
    assert text.endswith("install tocsin[otel]")


OFF = """
import asyncio, sys
from hub.admin.observability import Observability
from hub.cli.telemetry.running import running_telemetry
from hub.cli import main

main.get_command(None, 'serve')

async def run():
    async with running_telemetry(None) as tracer:
        assert tracer is None

asyncio.run(run())
print(*(name for name in sys.modules if name.startswith(("opentelemetry", "google", "requests"))))
"""


@pytest.mark.parametrize(
    "variables",
    [{}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"}],
    ids=["unset", "disabled"],
)
def test_a_daemon_that_exports_nothing_does_not_import_the_library(
    variables: dict[str, str],
) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run(
        [sys.executable, "-c", OFF],
        env=kept | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []
