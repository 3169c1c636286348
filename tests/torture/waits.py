"""What else is done on the machine, taken out of how long something took."""

import time
from pathlib import Path


class Taken:
    """How long something takes a process from now on, or `since` a moment of time.monotonic()."""

    def __init__(self, pid: int, since: float | None = None) -> None:
        self._pid = pid
        self._began = time.monotonic() if since is None else since
        self._before = waited(pid) if since is None else 0.0

    def seconds(self) -> float:
        """Those so far, but for the ones in which it could have gone on and others had the
        processors.
        """
        return time.monotonic() - self._began - (waited(self._pid) - self._before)


def waited(pid: int) -> float:
    """Seconds that a process, in its first thread, has waited for a processor. 0 where the kernel
    does not count them, or the process is gone.
    """
    try:
        _, waiting, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
    except (OSError, ValueError):
        return 0.0
    return int(waiting) / 1e9
