"""Threads for calls that may hang."""

import asyncio
import contextlib
import threading
from collections.abc import Callable


async def in_thread(function: Callable[[], object]) -> None:
    """Call a function in a thread and wait for it. Raises the function's exception.

    Unlike with asyncio.to_thread, the end of the process does not wait for the thread.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def finish(error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        error = None
        try:
            function()
        except Exception as raised:
            error = raised
        # The loop may have ended in the meantime.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(finish, error)

    threading.Thread(target=run, name="telemetry", daemon=True).start()
    await done
