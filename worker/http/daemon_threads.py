"""Threads that do not delay the end of the process, as the threads of `concurrent.futures` do."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from threading import Condition, Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class DaemonThreads(Generic[T]):
    """Threads that do work, at most `most` at once. One is started only if none is free."""

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._waiting: deque[tuple[Future[T], Callable[[], T]]] = deque()
        self._changed = Condition()
        self._threads = self._idle = 0
        self._closed = False

    def submit(self, work: Callable[[], T]) -> "Future[T]":
        """Do work when a thread is free. Raises RuntimeError after `close`, or if there is none."""
        future: Future[T] = Future()
        with self._changed:
            if self._closed:
                raise RuntimeError("the threads are closed")
            if len(self._waiting) >= self._idle and self._threads < self._most:
                self._start()
            self._waiting.append((future, work))
            self._changed.notify()
        return future

    def _start(self) -> None:
        """Start a thread. If the system refuses it, the others do the work."""
        try:
            Thread(target=self._run, name=self._name, daemon=True).start()
        except RuntimeError:
            # Nothing was counted, and no work is left behind.
            if not self._threads:
                raise
        else:
            self._threads += 1

    def close(self) -> None:
        """Let the threads end, and cancel work that has not begun."""
        with self._changed:
            self._closed = True
            dropped = [future for future, _ in self._waiting]
            self._waiting.clear()
            self._changed.notify_all()
        for future in dropped:
            future.cancel()

    def _run(self) -> None:
        while (job := self._next()) is not None:
            _do(*job)

    def _next(self) -> tuple["Future[T]", Callable[[], T]] | None:
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._waiting or self._closed)
            self._idle -= 1
            return self._waiting.popleft() if self._waiting else None


def _do(future: "Future[T]", work: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        found = work()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(found)
