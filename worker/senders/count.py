"""How many sender processes a worker uses under load."""

import os
from pathlib import Path

from worker.settings import WorkerSettings

# The most processes if the setting leaves the number to the machine. The one thread of the worker
# that feeds them cannot keep more of them busy.
MOST = 4
CGROUP_LIMIT = Path("/sys/fs/cgroup/cpu.max")


def sender_count(settings: WorkerSettings, limit: Path = CGROUP_LIMIT) -> int:
    """Return how many sender processes there are under load.

    The setting decides, or the processors that this process may use. `limit` is the file with the
    processor time that its control group may use.
    """
    if settings.senders is not None:
        return settings.senders
    return max(0, min(_processors(limit) - 1, MOST))


def _processors(limit: Path) -> int:
    usable = len(os.sched_getaffinity(0))
    try:
        quota, period = limit.read_text().split()
        return min(usable, round(int(quota) / int(period)))
    except (OSError, ValueError):
        # There is no control group, or its processor time has no limit ("max").
        return usable
