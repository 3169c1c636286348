"""The end of a process whose threads hang."""

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator

from store import Store

log = logging.getLogger("tocsin.serve")

# Seconds from the signal for all work that needs the database. The worker needs 11 of them for
# requests in flight and their outcomes, and systemd kills the process after 20.
DATABASE_PATIENCE = 14.0
# Seconds that the event loop and the interpreter get for their own end.
PATIENCE = 2.0


@contextlib.contextmanager
def database_timer(store: Store) -> Iterator[Callable[[], None]]:
    """Yield a function that lets the block end in time, although the database may not answer.

    It begins to count DATABASE_PATIENCE. Then all waiting and later transactions fail.
    """
    timer = threading.Timer(DATABASE_PATIENCE, _disconnect, [store])
    timer.daemon = True
    try:
        # The event loop could not count, because it may wait for a thread that waits.
        yield timer.start
    finally:
        timer.cancel()


def _disconnect(store: Store) -> None:
    if not store.engine.embedded:
        log.warning(
            "the end waits no longer for the database: deliveries without a record are made again"
        )
        store.engine.disconnect()


def exit_soon() -> None:
    """End the process in PATIENCE seconds with code 0, unless it ends by itself before.

    The event loop waits for its look-ups of names, for example of an SMTP server. They cannot be
    ended, and take as long as the system's resolver. The service manager would kill the process.
    """
    timer = threading.Timer(PATIENCE, os._exit, [0])
    timer.daemon = True
    timer.start()
