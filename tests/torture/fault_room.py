"""Lack of room: a full disk, a failing write, and a full queue of the writer."""

import asyncio
import contextlib
import resource
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from waiting import until

from tests.torture.fault_database import writing
from tests.torture.finding import NOT_TRIED, Trial
from tests.torture.scene import Scene, scene

DISK = 24 * 1024 * 1024
LARGE = b'{"filler": "' + b"x" * 2_000_000 + b'"}'
# The bound on memory: bodies being received and events waiting to be written.
HELD = 700_000_000
# After so many refusals, the queue has its greatest size.
REFUSED = 1_000


async def full_disk(trial: Trial) -> None:
    """Another file fills the small disk of the data directory, and is deleted later."""
    async with _small_disk(trial) as there:
        if there:
            async with scene(trial) as here:
                await _full_disk(trial, here)


async def _full_disk(trial: Trial, here: Scene) -> None:
    await here.serve()
    here.post()
    await here.accepted(200)
    ballast = trial.folder / "ballast"
    _fill(ballast)
    await until(lambda: len(here.sender.refused) >= 100)
    ballast.unlink()
    await here.accepted(200)
    here.refusals()
    await here.end()


def _fill(file: Path) -> None:
    # Without a buffer, because the end of the block would write its rest to the full disk.
    with file.open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
        while True:
            ballast.write(bytes(64 * 1024))


@asynccontextmanager
async def _small_disk(trial: Trial) -> AsyncIterator[bool]:
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tocsin-torture", str(trial.folder)]
    done = await asyncio.to_thread(subprocess.run, mount, capture_output=True, text=True)
    if done.returncode:
        trial.show(NOT_TRIED, done.stderr.strip())
        yield False
        return
    try:
        yield True
    finally:
        await asyncio.to_thread(subprocess.run, ["umount", "-l", str(trial.folder)], check=True)


async def failing_write(trial: Trial) -> None:
    """A limit of the file size stops the growth of the WAL, and is removed later."""
    async with scene(trial) as here:
        daemon = await here.serve()
        here.post()
        await here.accepted(100)
        pid = daemon.process.pid
        _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, most))
        await until(lambda: len(here.sender.refused) >= 20)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))
        await here.accepted(100)
        here.refusals()
        await here.end()


async def full_queue(trial: Trial) -> None:
    """Another program locks the database while clients post large events."""
    async with scene(trial) as here:
        await here.serve(TOCSIN_MAX_BODY_BYTES=str(len(LARGE)))
        here.sender.body = LARGE
        here.post(1)
        await here.accepted(2)
        await here.rest()
        before = here.memory()
        most = 0
        with writing(here.site):
            here.post(400)

            def refused() -> bool:
                nonlocal most
                most = max(most, here.memory() - before)
                return len(here.sender.refused) >= REFUSED

            await until(refused, "the queue to be full", pause=0.1)
        await here.accepted(5)
        here.refusals()
        shown = f"{most / 1e6:.0f} MB"
        trial.find("memory grows by", f"at most {HELD / 1e6:.0f} MB", shown, most <= HELD)
        await here.end()
