"""The signals that the environment variables of OpenTelemetry ask for."""

from collections.abc import Iterator, Mapping
from typing import Literal

Signal = Literal["traces", "metrics"]
SIGNALS: tuple[Signal, ...] = ("traces", "metrics")
PROTOCOL = "http/protobuf"


class UnsupportedExporter(ValueError):
    """A variable asks for an export that this program cannot make."""


def wanted_signals(environment: Mapping[str, str]) -> tuple[list[Signal], list[str]]:
    """Return the signals to export, and a message for each that cannot be exported.

    A signal is exported if its exporter is `otlp`, or if it has none and there is an endpoint.
    """
    wanted: list[Signal] = []
    problems: list[str] = []
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return wanted, problems
    for signal in SIGNALS:
        try:
            if _is_wanted(signal, environment):
                wanted.append(signal)
        except UnsupportedExporter as error:
            problems.append(f"{signal} are not exported: {error}")
    return wanted, problems


def _is_wanted(signal: Signal, environment: Mapping[str, str]) -> bool:
    exporter = f"OTEL_{signal.upper()}_EXPORTER"
    named = environment.get(exporter, "").strip()
    if named not in ("", "none", "otlp"):
        raise UnsupportedExporter(f"{exporter} is {named!r}, and only otlp and none are supported")
    found = named == "otlp" or any(value for _, value in _given("ENDPOINT", signal, environment))
    if named == "none" or not found:
        return False
    for name, value in _given("PROTOCOL", signal, environment):
        if value != PROTOCOL:
            raise UnsupportedExporter(f"{name} is {value!r}, and only {PROTOCOL} is supported")
        break
    return True


def _given(
    suffix: str, signal: Signal, environment: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the variables that have a value, the signal's own one first."""
    for name in (f"OTEL_EXPORTER_OTLP_{signal.upper()}_{suffix}", f"OTEL_EXPORTER_OTLP_{suffix}"):
        if value := environment.get(name, "").strip():
            yield name, value
