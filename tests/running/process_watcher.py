"""A watcher that ends the processes which a test process leaves behind, however it ends.

A PostgreSQL server or a daemon would outlive the test process, because no signal handler and no
`atexit` runs after SIGKILL, or after SIGTERM.

Every process carries the marks of all test processes above it in its environment. A separate
watcher (`python process_watcher.py PID MARK`) waits until the test process is gone. Then it ends
all processes that have its mark, and their children.
"""

import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

MARKS = "PYTEST_PROCESSES_OF"
"""The name of the environment variable. It is not one of the project's, because tests remove
those.
"""
FOLDER = "tocsin-pg-"
"""The prefix of the names of PostgreSQL's data directories in the temporary directory."""
PROC = Path("/proc")
# Seconds that a server has to end, and the seconds between two checks.
SOON, AGAIN = 10.0, 0.05


def watch() -> None:
    """Start a watcher of this process."""
    if not hasattr(os, "pidfd_open") or not PROC.is_dir():
        return
    # The time distinguishes this process from an earlier one with the same number.
    mark = f"{os.getpid()}.{time.monotonic_ns()};"
    environment = dict(os.environ)
    os.environ[MARKS] = os.environ.get(MARKS, "") + mark
    # subprocess would warn at the end that the watcher still runs. In a session of its own, the
    # watcher survives the end of the process group. Without the standard streams, a program that
    # reads the tests' output does not wait for the watcher.
    os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", __file__, str(os.getpid()), mark],
        environment,
        setsid=True,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)
        ],
    )


def left(mark: str) -> set[int]:
    """Return the processes with a mark, and all their children, without this process."""
    parents = dict(parents_of_all())
    found = {pid for pid in parents if _has(pid, mark)}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


def parents_of_all() -> Iterator[tuple[int, int]]:
    for folder in PROC.iterdir():
        if folder.name.isdecimal():
            try:
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state != "Z":
                yield int(folder.name), int(parent)


def _has(pid: int, mark: str) -> bool:
    try:
        return mark.encode() in (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False


def is_watcher(pid: int) -> bool:
    """Return whether a process is a watcher. One that has ended is none."""
    try:
        return __file__.encode() in (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False


def data_directory(pid: int) -> Path | None:
    """Return the data directory of a PostgreSQL server. Return None for other processes."""
    try:
        arguments = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return None
    if not arguments[0].endswith(b"postgres") or b"-D" not in arguments:
        return None
    return Path(os.fsdecode(arguments[arguments.index(b"-D") + 1]))


def end(mark: str) -> None:
    """End all processes with a mark, and remove the servers' data directories.

    The watchers of these processes end by themselves. One that was killed would leave the directory
    of the server that it has just ended.
    """
    folders = set()
    ends = time.monotonic() + SOON
    while found := {pid for pid in left(mark) if not is_watcher(pid)}:
        servers = {pid: folder for pid in found if (folder := data_directory(pid)) is not None}
        folders |= {*servers.values()}
        for pid in found:
            # A server that is killed leaves its shared memory behind.
            asked = pid in servers and time.monotonic() < ends
            try:
                os.kill(pid, signal.SIGQUIT if asked else signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(AGAIN)
    for folder in folders:
        if folder.name.startswith(FOLDER):
            shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    pid, mark = int(sys.argv[1]), sys.argv[2]
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        end(mark)
        return
    select.select([watched], [], [])
    end(mark)


if __name__ == "__main__":
    main()
