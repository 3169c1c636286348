"""How long something took, but for what else was done on the machine."""

import os
import time
from pathlib import Path


class Taken:
    """How long something takes this process and others from now on."""

    def __init__(self, *pids: int) -> None:
        self._began = time.monotonic()
        self._before = {pid: waited(pid) for pid in (os.getpid(), *pids)}

    def seconds(self, *started: int) -> float:
        """Those so far, but for the ones in which one of them could have gone on and others had
        the processors. `started` are processes that were started since.
        """
        took = time.monotonic() - self._began
        waits = [waited(pid) - before for pid, before in self._before.items()]
        # They may have waited at the same time.
        return took - max(*waits, *map(waited, started), 0.0)


def waited(pid: int) -> float:
    """Seconds that a process, in its first thread, has waited for a processor. 0 where the kernel
    does not count them, or the process is gone.
    """
    try:
        _, waiting, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
    except (OSError, ValueError):
        return 0.0
    return int(waiting) / 1e9
