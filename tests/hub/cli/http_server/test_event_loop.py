"""The servers' event loop: uvloop's with the extra `speed`, asyncio's own without it."""

import asyncio
import socket
import sys
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from waiting import PATIENCE

from hub.cli.http_server.event_loop import new_asyncio_loop, new_event_loop


def test_uvloop_is_used_if_the_extra_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        assert "uvloop" in type(runner.get_loop()).__module__
    monkeypatch.setitem(sys.modules, "uvloop", None)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        assert "asyncio" in type(runner.get_loop()).__module__


@pytest.mark.parametrize("new_loop", [new_event_loop, new_asyncio_loop])
def test_names_that_hang_delay_no_other_thread_and_not_the_end(
    monkeypatch: pytest.MonkeyPatch, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    begun, over, ended = Event(), Event(), list[Any]()

    def hang(*args: Any, **_: Any) -> list[Any]:
        begun.set()
        over.wait(PATIENCE)
        ended.append(args)
        return []

    async def look_up() -> None:
        loop = asyncio.get_running_loop()
        # More than the loop has threads for other work.
        tasks = [asyncio.ensure_future(loop.getaddrinfo("slow.test", 80)) for _ in range(40)]
        await asyncio.to_thread(begun.wait, PATIENCE)
        assert not any(task.done() for task in tasks)

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(look_up())
        assert begun.is_set()
        assert ended == []
    finally:
        over.set()
