"""The servers' event loop: uvloop's with the extra `speed`, asyncio's own without it."""

import asyncio
import sys

import pytest

from hub.cli.http_server.event_loop import new_event_loop


def test_uvloop_is_used_if_the_extra_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        assert "uvloop" in type(runner.get_loop()).__module__
    monkeypatch.setitem(sys.modules, "uvloop", None)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        assert "asyncio" in type(runner.get_loop()).__module__
