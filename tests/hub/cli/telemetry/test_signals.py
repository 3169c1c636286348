"""The environment variables that switch the export of traces and metrics on."""

import pytest

from hub.cli.telemetry.signals import wanted_signals

ANY, OWN = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
URL = {ANY: "http://collector:4318"}
BOTH = ["traces", "metrics"]


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, []),
        ({"OTEL_SERVICE_NAME": "hub", "OTEL_TRACES_SAMPLER": "always_on"}, []),
        (URL, BOTH),
        ({ANY: " "}, []),
        ({OWN: "http://collector:4318/v1/traces"}, ["traces"]),
        ({"OTEL_METRICS_EXPORTER": "otlp"}, ["metrics"]),
        (URL | {"OTEL_METRICS_EXPORTER": "none"}, ["traces"]),
        (URL | {"OTEL_TRACES_EXPORTER": "none"}, ["metrics"]),
        (URL | {"OTEL_SDK_DISABLED": "true"}, []),
        (URL | {"OTEL_SDK_DISABLED": "TRUE"}, []),
        (URL | {"OTEL_SDK_DISABLED": "false"}, BOTH),
        (URL | {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, BOTH),
    ],
)
def test_wanted_signals(environment: dict[str, str], wanted: list[str]) -> None:
    assert wanted_signals(environment) == (wanted, [])


@pytest.mark.parametrize(
    ("environment", "wanted", "problems"),
    [
        (
            URL | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            [],
            [
                f"{signal} are not exported: OTEL_EXPORTER_OTLP_PROTOCOL is 'grpc', and only"
                " http/protobuf is supported"
                for signal in BOTH
            ],
        ),
        (
            URL
            | {
                "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
                "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/protobuf",
            },
            ["metrics"],
            [
                "traces are not exported: OTEL_EXPORTER_OTLP_PROTOCOL is 'grpc', and only"
                " http/protobuf is supported"
            ],
        ),
        (
            URL | {"OTEL_TRACES_EXPORTER": "zipkin"},
            ["metrics"],
            [
                "traces are not exported: OTEL_TRACES_EXPORTER is 'zipkin', and only otlp and none"
                " are supported"
            ],
        ),
    ],
)
def test_unsupported_wishes(
    environment: dict[str, str], wanted: list[str], problems: list[str]
) -> None:
    assert wanted_signals(environment) == (wanted, problems)
