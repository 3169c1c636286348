"""Runs functions in new processes, so that trials do not share a heap."""

import asyncio
import importlib
import inspect
import logging
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import orjson
import uvloop

PATIENCE = 120


def call(function: Callable[..., Any], /, **given: Any) -> Any:
    """Run a module's function in a new interpreter, on uvloop if it is async.

    Arguments and result are sent as JSON. Raises CalledProcessError, or TimeoutExpired after
    PATIENCE seconds.
    """
    name = name_of(function)
    done = subprocess.run(
        [sys.executable, "-m", __name__, name],
        input=orjson.dumps(given),
        stdout=subprocess.PIPE,
        timeout=PATIENCE,
        check=True,
    )
    return orjson.loads(done.stdout.splitlines()[-1])


def name_of(function: Callable[..., Any]) -> str:
    """Return the name by which `named` finds the function."""
    return f"{function.__module__}:{function.__qualname__}"


def named(name: str) -> Callable[..., Any]:
    """Return the function of this name."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found


def _answer(name: str) -> None:
    # Failures at broken receivers are measured, not printed.
    logging.getLogger("tocsin").setLevel(logging.ERROR)
    given = orjson.loads(sys.stdin.buffer.read())
    result = named(name)(**given)
    if inspect.isawaitable(result):
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            result = runner.run(_awaited(result))
    sys.stdout.buffer.write(orjson.dumps(result) + b"\n")


async def _awaited(result: Any) -> Any:
    return await result


if __name__ == "__main__":
    _answer(sys.argv[1])
