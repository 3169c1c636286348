"""Look-ups of names: slow names do not delay healthy ones, and no look-up is done in vain."""

import asyncio
import itertools
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from waiting import PATIENCE

from worker.http import names
from worker.http.daemon_threads import DaemonThreads
from worker.http.guard import Guard
from worker.http.names import FORGET_SECONDS, NEW, QUICK, SLOW, SLOW_SECONDS, NameKinds

FOUND = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("8.8.8.8", 0))] * 2


class System:
    """A system's resolver and clock. Names that begin with `hanging` hang until `release`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.hanging = "dead"
        self.release = threading.Event()
        self.begun = threading.Semaphore(0)
        self.ticks = itertools.count()

    def getaddrinfo(self, host: bytes, *_: object) -> list[tuple[object, ...]]:
        name = host.decode()
        self.asked.append(name)
        if name.startswith(self.hanging):
            self.begun.release()
            assert self.release.wait(PATIENCE)
            raise socket.gaierror(socket.EAI_AGAIN, "try again")
        return FOUND

    async def until_begun(self, many: int) -> None:
        """Wait until so many hanging look-ups have begun."""
        for _ in range(many):
            assert await asyncio.to_thread(self.begun.acquire, timeout=PATIENCE)


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> Iterator[System]:
    made = System()
    monkeypatch.setattr(socket, "getaddrinfo", made.getaddrinfo)
    yield made
    made.release.set()


@pytest.fixture
def guard(system: System) -> Iterator[Guard]:
    made = Guard()
    yield made
    made.close()


def start(guard: Guard, name: str, port: int = 443) -> asyncio.Task[list[str]]:
    endpoint = guard.endpoint(f"https://{name}:{port}/")
    return asyncio.create_task(guard.resolve(endpoint))


async def end(*tasks: asyncio.Task[list[str]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_hanging_names_delay_no_name_that_was_quick(system: System, guard: Guard):
    assert await start(guard, "healthy.example") == ["8.8.8.8"]
    dead = [start(guard, f"dead{n}.example") for n in range(2 * names.THREADS[NEW])]
    await system.until_begun(names.THREADS[NEW])
    async with asyncio.timeout(PATIENCE):
        assert await start(guard, "healthy.example") == ["8.8.8.8"]
    await end(*dead)


async def test_quick_names_that_hang_delay_few_other_quick_names(
    system: System, guard: Guard, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(names, "monotonic", lambda: 0.0)
    turning = [f"turning{n}.example" for n in range(63)]
    await asyncio.gather(*(start(guard, name) for name in ("healthy.example", *turning)))
    system.hanging = "turning"
    tasks = [start(guard, name) for name in turning]
    await system.until_begun(len(turning))
    async with asyncio.timeout(PATIENCE):
        assert await start(guard, "healthy.example") == ["8.8.8.8"]
    await end(*tasks)


async def test_slow_names_delay_no_new_name(
    system: System, guard: Guard, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(names, "monotonic", lambda: next(system.ticks) * SLOW_SECONDS)
    dead = [f"dead{n}.example" for n in range(names.THREADS[NEW])]
    system.release.set()
    await asyncio.gather(*(start(guard, name) for name in dead), return_exceptions=True)
    system.release.clear()
    system.begun = threading.Semaphore(0)
    tasks = [start(guard, name) for name in dead]
    await system.until_begun(names.THREADS[SLOW])
    async with asyncio.timeout(PATIENCE):
        assert await start(guard, "new.example") == ["8.8.8.8"]
    await end(*tasks)


async def test_a_look_up_that_has_no_waiter_left_does_not_begin(system: System, guard: Guard):
    held = [start(guard, f"dead{n}.example") for n in range(names.THREADS[NEW])]
    await system.until_begun(names.THREADS[NEW])
    left, kept = start(guard, "left.example"), start(guard, "kept.example")
    await asyncio.sleep(0)
    await end(left)
    system.release.set()
    assert await kept == ["8.8.8.8"]
    await asyncio.gather(*held, return_exceptions=True)
    assert "left.example" not in system.asked


async def test_look_ups_of_one_name_are_one(system: System, guard: Guard):
    held = [start(guard, f"dead{n}.example") for n in range(names.THREADS[NEW])]
    await system.until_begun(names.THREADS[NEW])
    tasks = [start(guard, "example.com", 8000 + n) for n in range(5)]
    await asyncio.sleep(0)
    await end(tasks[0])
    system.release.set()
    assert await asyncio.gather(*tasks[1:]) == [["8.8.8.8"]] * 4
    assert system.asked.count("example.com") == 1
    await start(guard, "example.com")
    assert system.asked.count("example.com") == 2
    await asyncio.gather(*held, return_exceptions=True)


async def test_a_second_attempt_joins_the_look_up_that_hangs(system: System, guard: Guard):
    first = start(guard, "dead.example")
    await system.until_begun(1)
    await end(first)
    second = start(guard, "dead.example")
    await asyncio.sleep(0)
    system.release.set()
    with pytest.raises(socket.gaierror):
        await second
    assert system.asked == ["dead.example"]


async def test_a_closed_resolver_ends_the_wait_for_a_thread(system: System, guard: Guard):
    held = [start(guard, f"dead{n}.example") for n in range(names.THREADS[NEW])]
    await system.until_begun(names.THREADS[NEW])
    waits = start(guard, "example.com")
    await asyncio.sleep(0)
    guard.close()
    with pytest.raises(OSError, match="closed"):
        await waits
    await end(*held)


def test_a_look_up_may_outlive_its_event_loop(system: System, caplog: pytest.LogCaptureFixture):
    async def give_up() -> None:
        task = start(guard, "dead.example")
        await system.until_begun(1)
        await end(task)

    guard = Guard()
    asyncio.run(give_up())
    system.release.set()
    for thread in threading.enumerate():
        if thread.name.startswith("resolve"):
            guard.close()
            thread.join(PATIENCE)
    assert not caplog.records


def test_the_end_of_the_process_waits_for_no_look_up():
    """The system may take half a minute until it gives up a name whose servers do not answer."""
    program = """
import asyncio, socket, threading
from worker.http.guard import Guard

asked = threading.Event()

def hang(*given):
    asked.set()
    threading.Event().wait()

async def main():
    guard = Guard()
    task = asyncio.create_task(guard.resolve(guard.endpoint("https://dead.example/")))
    await asyncio.to_thread(asked.wait)
    task.cancel()
    guard.close()

socket.getaddrinfo = hang
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=PATIENCE)
    assert done.returncode == 0


def test_a_thread_that_does_not_start_takes_no_place(monkeypatch: pytest.MonkeyPatch):
    """The system may refuse threads for a while. Later look-ups need those places."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    threads = DaemonThreads[int](1, "test")
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            threads.submit(lambda: 1)
    assert threads.submit(lambda: 2).result(PATIENCE) == 2
    threads.close()


def test_work_without_a_new_thread_waits_for_the_others(monkeypatch: pytest.MonkeyPatch):
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    threads, over = DaemonThreads[bool](2, "test"), threading.Event()
    first = threads.submit(lambda: over.wait(PATIENCE))
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        second = threads.submit(over.is_set)
    over.set()
    assert first.result(PATIENCE)
    assert second.result(PATIENCE)
    threads.close()


def test_the_last_look_ups_decide_the_kind_of_a_name():
    kinds = NameKinds()
    assert kinds.kind("a.example", 0.0) == NEW
    for begun, ended, found, kind in (
        (0.0, 0.1, True, QUICK),
        (1.0, 1.1, False, NEW),
        (2.0, 2.0 + SLOW_SECONDS, False, SLOW),
        (4.0, 4.1, True, NEW),
        (5.0, 5.1, False, SLOW),
        (6.0, 6.1, True, NEW),
        (7.0, 7.1, True, NEW),
        (8.0, 8.1, True, QUICK),
        (9.0, 9.0 + SLOW_SECONDS, True, SLOW),
    ):
        kinds.note("a.example", begun, ended, found=found)
        assert kinds.kind("a.example", ended) == kind


def test_a_slow_name_is_new_again_after_a_while():
    kinds = NameKinds()
    kinds.note("a.example", 0.0, 10.0, found=False)
    assert kinds.kind("a.example", 10.0 + FORGET_SECONDS) == SLOW
    assert kinds.kind("a.example", 10.1 + FORGET_SECONDS) == NEW
    kinds.note("a.example", 0.0, 0.1, found=True)
    assert kinds.kind("a.example", 10.1 + FORGET_SECONDS) == NEW


@pytest.mark.parametrize("seconds", [0.0, SLOW_SECONDS])
def test_the_oldest_names_are_forgotten(seconds: float):
    kinds = NameKinds(max_names=2)
    for name in ("a", "b", "a", "c"):
        kinds.note(name, 0.0, seconds, found=True)
    assert [kinds.kind(name, 1.0) != NEW for name in "abc"] == [True, False, True]
