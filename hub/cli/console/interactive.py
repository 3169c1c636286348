"""Commands that run until they are interrupted: by Ctrl-C, SIGTERM, a key, or a closed pipe."""

import contextlib
import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hub.cli.console import streams


@contextlib.contextmanager
def interrupted_by(*signals: signal.Signals) -> Iterator[None]:
    """Make these signals end the block with KeyboardInterrupt, so that it can clean up.

    Only the first signal does so. Another one would interrupt the cleanup. A signal that the
    process ignores stays ignored, such as SIGHUP after nohup.
    """
    former = _handlers(signals)
    received = False

    def interrupt(*_: object) -> None:
        nonlocal received
        if not received:
            received = True
            raise KeyboardInterrupt

    for number in former:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _handlers(signals: Iterable[signal.Signals]) -> dict[signal.Signals, Any]:
    """Return the current handler of each signal that the process does not ignore."""
    handlers = {number: signal.getsignal(number) for number in signals}
    return {number: each for number, each in handlers.items() if each != signal.SIG_IGN}


@contextlib.contextmanager
def until_interrupted() -> Iterator[None]:
    """End the block without an error on Ctrl-C, on SIGTERM, or if the reader closes the pipe."""
    try:
        with interrupted_by(signal.SIGTERM):
            yield
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        # The flush at the interpreter's exit would raise the error once more.
        streams.discard_output()


@contextlib.contextmanager
def stop_signals() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C or SIGTERM came during the block.

    Only the second signal interrupts the block. A signal that the process ignores stays ignored.
    """
    former = _handlers((signal.SIGINT, signal.SIGTERM))
    stopped = False

    def restore() -> None:
        for number, handler in former.items():
            signal.signal(number, handler)

    def received(*_: object) -> None:
        nonlocal stopped
        stopped = True
        restore()

    for number in former:
        signal.signal(number, received)
    try:
        yield lambda: stopped
    finally:
        restore()


@contextlib.contextmanager
def keyboard() -> Iterator[None]:
    """Read keys one by one and without echo during the block, if standard input is a terminal."""
    if not sys.stdin.isatty():
        yield
        return
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    tty.setcbreak(number)
    try:
        yield
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)


@contextlib.contextmanager
def on_key(call: Callable[[str], None]) -> Iterator[None]:
    """Have the event loop call `call` with each key during the block; "" is the end of input.

    Standard input must be a terminal.
    """
    # Other commands do not need asyncio, whose import takes long.
    from asyncio import get_running_loop

    loop, number = get_running_loop(), sys.stdin.fileno()

    def ready() -> None:
        try:
            keys = os.read(number, 64).decode(errors="replace")
        except OSError:  # the terminal is gone
            keys = ""
        if not keys:
            loop.remove_reader(number)
        for key in keys or [""]:
            call(key)

    with keyboard():
        loop.add_reader(number, ready)
        try:
            yield
        finally:
            loop.remove_reader(number)


def read_key(seconds: float) -> str:
    """Wait up to `seconds` for a key and return it, or "" if there is none."""
    if not sys.stdin.isatty():
        time.sleep(seconds)
        return ""
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return os.read(sys.stdin.fileno(), 1).decode(errors="replace") if ready else ""
