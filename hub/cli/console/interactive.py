"""What goes on until somebody ends it: Ctrl-C, SIGTERM, a key, or a reader that has gone."""

import contextlib
import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator


@contextlib.contextmanager
def until_interrupted() -> Iterator[None]:
    """The block ends when it is told to, and nothing is wrong with that."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        # What is still to be flushed at the end would say so once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def keyboard() -> Iterator[None]:
    """Keys come one by one, unseen, where this is a terminal."""
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


def read_key(seconds: float) -> str:
    """The key that is pressed within so many seconds, or none."""
    if not sys.stdin.isatty():
        time.sleep(seconds)
        return ""
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return os.read(sys.stdin.fileno(), 1).decode(errors="replace") if ready else ""
