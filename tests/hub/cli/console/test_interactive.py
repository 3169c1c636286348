"""Signals that end a command."""

import asyncio
import signal

import pytest

from hub.cli.console.interactive import until_interrupted


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_a_second_ctrl_c_ends_a_slow_cleanup(first: signal.Signals) -> None:
    done = []

    async def work() -> None:
        try:
            signal.raise_signal(first)
            await asyncio.sleep(0)
        finally:
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(0)
            done.append("cleaned up")

    with until_interrupted():
        asyncio.run(work())
    assert done == []
