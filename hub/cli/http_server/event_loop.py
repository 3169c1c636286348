"""The event loop of the servers: uvloop's if the extra `speed` is installed, or asyncio's own."""

import asyncio
import socket
import weakref
from functools import partial
from typing import Any

from worker.http.daemon_threads import DaemonThreads

# Look-ups of names at once, in each loop. Most of them hang at the same server.
LOOK_UPS = 16


def new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ModuleNotFoundError:
        return new_asyncio_loop()
    return _with_own_look_ups(uvloop.new_event_loop())


def new_asyncio_loop() -> asyncio.AbstractEventLoop:
    """Return asyncio's own loop. The connections of uvloop do not use its method `getaddrinfo`."""
    return _with_own_look_ups(asyncio.new_event_loop())


def _with_own_look_ups(loop: asyncio.AbstractEventLoop) -> asyncio.AbstractEventLoop:
    """Let a loop look up names in threads of their own.

    A look-up cannot be ended. If it hangs in the loop's threads, large events wait for a free
    thread, and the end of the loop waits for the system's resolver.
    """
    threads: DaemonThreads[list[Any]] = DaemonThreads(LOOK_UPS, "look-up")
    weakref.finalize(loop, threads.close)

    def getaddrinfo(*args: Any, **given: Any) -> asyncio.Future[list[Any]]:
        work = partial(socket.getaddrinfo, *args, **given)
        return asyncio.wrap_future(threads.submit(work))

    loop.getaddrinfo = getaddrinfo  # type: ignore[assignment,method-assign]  # one of either class
    return loop
