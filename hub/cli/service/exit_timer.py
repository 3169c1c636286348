"""The end of a process whose threads hang, after all of its work has ended."""

import os
import threading

# Seconds that the event loop and the interpreter get for their own end.
PATIENCE = 2.0


def exit_soon() -> None:
    """End the process in PATIENCE seconds with code 0, unless it ends by itself before.

    The event loop waits for its look-ups of names, for example of an SMTP server. They cannot be
    ended, and take as long as the system's resolver. The service manager would kill the process.
    """
    timer = threading.Timer(PATIENCE, os._exit, [0])
    timer.daemon = True
    timer.start()
