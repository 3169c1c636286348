"""Junk requests to every endpoint cause no server error, little work, and no memory growth."""

import asyncio
import re
import resource
import subprocess
import sys
from collections import Counter

from daemon import LENGTH
from waiting import PATIENCE, Stopwatch

from tests.torture.finding import Trial
from tests.torture.junk import Junk
from tests.torture.scene import Scene, scene

CONNECTIONS = 4
GROWTH = 60_000_000
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


class Fuzzer:
    """A client that sends junk requests, and counts the responses."""

    def __init__(self, here: Scene, seed: int) -> None:
        self._here = here
        self.start = start_cost()
        self._junk = Junk(here.site.token, seed)
        self.left = 0
        self.seen: Counter[str] = Counter()
        self.errors: list[str] = []
        self.unanswered: list[str] = []
        self.costly: list[str] = []
        self.slowest = 0.0

    async def send(self, count: int) -> None:
        self.left = count
        await asyncio.gather(*(self._send() for _ in range(CONNECTIONS)))

    async def _send(self) -> None:
        while self.left > 0:
            self.left -= 1
            request = self._junk.request()
            taken, before = Stopwatch(), self._here.processor()
            try:
                answer = await self._answer(request)
            except TimeoutError:
                self.unanswered.append(f"{request[:200]!r}")
                continue
            self.slowest = max(self.slowest, taken.seconds())
            cost = self._here.processor() - before
            if cost > self.start:
                self.costly.append(f"{cost:.1f} s: {request[:100]!r}")
            status = STATUS.match(answer)
            self.seen[status[1].decode() if status else "closed"] += 1
            if status and status[1] >= b"500":
                self.errors.append(f"{status[1].decode()}: {request[:200]!r}")

    async def _answer(self, request: bytes) -> bytes:
        """Return the head of the response; empty if the server closes the connection before it."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._here.site.port)
        try:
            writer.write(request)
            # Otherwise the server would wait for the rest of a body that is shorter than announced.
            writer.write_eof()
            async with asyncio.timeout(PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
                length = LENGTH.search(head)
                await reader.readexactly(int(length[1]) if length else 0)
                return head
        except TimeoutError:
            raise
        except (OSError, EOFError, asyncio.LimitOverrunError):
            return b""
        finally:
            writer.close()


def start_cost() -> float:
    """Return the processor time in which a new interpreter imports hub and worker, in seconds.

    The daemon itself is forked from a process that has them, so its start shows nothing.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "import hub.app, worker.service"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


async def torture(trial: Trial) -> None:
    """Send `trial.rounds` junk requests to every operation and other endpoint."""
    async with scene(trial, hook=False) as here:
        await here.serve(
            TOCSIN_FAILED_TOKENS="1000000", TOCSIN_BODY_TIMEOUT="0.5", TOCSIN_LOG_LEVEL="error"
        )
        fuzzer = Fuzzer(here, trial.seed)
        await fuzzer.send(max(trial.rounds // 10, 200))
        before = here.memory()
        await fuzzer.send(trial.rounds)
        growth = here.memory() - before
        statuses = ", ".join(f"{status} {count:,}" for status, count in sorted(fuzzer.seen.items()))
        trial.find("answers", "some", statuses, len(fuzzer.seen) > 3)
        trial.none("server errors", fuzzer.errors)
        trial.none("neither answered nor closed", fuzzer.unanswered)
        trial.none("requests that cost more processor time than a start", fuzzer.costly)
        trial.show("the slowest answer", f"{fuzzer.slowest:.2f} s")
        shown = f"{growth / 1e6:.0f} MB"
        trial.find("memory grows by", f"at most {GROWTH / 1e6:.0f} MB", shown, growth <= GROWTH)
        assert here.daemon is not None
        code = await here.daemon.end()
        trial.find("the daemon ends as it should", "0", code, code == 0)
        trial.find("integrity", "ok", here.site.integrity(), here.site.integrity() == "ok")
