"""The log of failing exports. The library would log each failure, every few seconds."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from hub.cli.telemetry.signals import Signal

LIBRARY = "opentelemetry"
# A part of the names of the library's loggers.
EXPORTERS: dict[str, Signal] = {"trace_exporter": "traces", "metric_exporter": "metrics"}

log = logging.getLogger("tocsin.telemetry")


class FailureLog(logging.Handler):
    """Logs the first failed export of each signal, and the first successful one after it.

    Other warnings of the library are logged once.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._known: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        signal = next((EXPORTERS[part] for part in EXPORTERS if part in record.name), None)
        if signal is not None:
            self.failed(signal, record.getMessage())
        elif record.msg not in self._known:
            self._known.add(record.msg)
            log.warning("OpenTelemetry: %s", record.getMessage())

    def failed(self, signal: Signal, why: str) -> None:
        """Log that a signal cannot be exported, unless its last export failed, too."""
        if signal not in self._known:
            self._known.add(signal)
            log.warning("%s cannot be exported, deliveries go on: %s", signal, why)

    def exported(self, signal: Signal) -> None:
        """Log that a signal is exported again, if its last export failed."""
        if signal in self._known:
            self._known.discard(signal)
            log.info("%s are exported again", signal)


@contextmanager
def failures_logged() -> Iterator[FailureLog]:
    """Log the library's warnings through a FailureLog alone during the block. Yields it."""
    library, handler = logging.getLogger(LIBRARY), FailureLog()
    before = library.propagate
    library.addHandler(handler)
    library.propagate = False
    try:
        yield handler
    finally:
        library.propagate = before
        library.removeHandler(handler)
