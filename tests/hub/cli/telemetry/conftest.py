"""The collector of traces that tests of telemetry share."""

from collections.abc import Iterator

import pytest
from otlp_receiver import OTLPReceiver, receiving


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[OTLPReceiver]:
    with receiving() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
        yield receiver
