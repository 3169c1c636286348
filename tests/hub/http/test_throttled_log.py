"""The log counts repeated lines in one line."""

import logging

import pytest

from hub.http import throttled_log
from hub.http.throttled_log import ThrottledLog


def test_repeated_lines_are_counted_in_one(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(throttled_log.time, "monotonic", lambda: now[0])
    log = ThrottledLog(logging.getLogger("tocsin.test"))
    for _ in range(1001):
        log.warning("%s is full", "the disk")
    assert caplog.messages == ["the disk is full"]
    now[0] += throttled_log.INTERVAL
    log.warning("%s is full", "the disk")
    now[0] += throttled_log.INTERVAL
    log.warning("%s is full", "the disk")
    more = "the disk is full (and 1,000 like it since the last such line)"
    assert caplog.messages == ["the disk is full", more, "the disk is full"]
