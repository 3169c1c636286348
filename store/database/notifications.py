"""How the store tells a worker that something is due.

The command that composes hub and worker in one process gives the store the worker's own courier,
which takes new deliveries straight from the transaction that made them. Otherwise the worker is
another process, and hears of it by a datagram.
"""

import asyncio
import contextlib
import hashlib
import socket
import tempfile
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import orjson

# A datagram that does not fit the socket's buffer is refused whole; beyond this many hooks the
# worker is told to look at all of them.
MOST_HOOKS = 500
# The kernel takes 107 bytes as the path of a socket.
LONGEST_PATH = 100


@dataclass(slots=True)
class LeasedEvent:
    """New deliveries of one event, already leased to the worker that is offered them."""

    lease_id: int
    event_id: int
    guid: str
    name: str
    body: bytes
    accepted_at: int
    deliveries: list[tuple[int, int, int]]
    """(delivery id, hook id, version of the hook)"""
    republished: bool = False
    """Whether it tells how things are, and not that they have changed."""


class WorkerNotifier(Protocol):
    """Where new work is announced."""

    def lease(self) -> int | None:
        """The lease under which new deliveries are made, or None when nobody here can take them."""

    def full(self) -> Collection[int]:
        """Hooks whose lanes take no more; their deliveries are made without a lease."""

    def dispatch(self, offers: Sequence[LeasedEvent]) -> None:
        """Hand over what was committed under the lease."""

    def wake(self, hooks: Iterable[int]) -> None:
        """Say that these hooks have something due in the store."""

    def arrived(self) -> None:
        """Say that events were kept, whether anybody wants them or not."""


class RemoteNotifier:
    """What couriers have in common that only announce: nobody here can take deliveries."""

    def lease(self) -> int | None:
        return None

    def full(self) -> Collection[int]:
        return ()

    def dispatch(self, offers: Sequence[LeasedEvent]) -> None:
        raise AssertionError("nothing is leased here, so nothing can be offered")


class SocketNotifier(RemoteNotifier):
    """Announces to a worker in another process by a datagram; nobody listening is no error."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def wake(self, hooks: Iterable[int]) -> None:
        chosen = list(hooks)
        message = orjson.dumps(chosen if len(chosen) <= MOST_HOOKS else [])
        with contextlib.suppress(OSError):
            self._socket.sendto(message, self._path)

    def arrived(self) -> None:
        """What becomes of events but deliveries can wait until the worker looks."""

    def close(self) -> None:
        self._socket.close()


async def listen(path: Path, called: Callable[[list[int]], None]) -> Callable[[], None]:
    """Listen to the heralds of other processes at `path`; returns what ends it."""
    _forget(path)
    ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ear.setblocking(False)
    ear.bind(str(path))
    loop = asyncio.get_running_loop()
    # A reader of our own, for uvloop knows datagrams only with hosts and ports.
    loop.add_reader(ear, _receive, ear, called)

    def end() -> None:
        loop.remove_reader(ear)
        ear.close()
        _forget(path)

    return end


def _receive(ear: socket.socket, called: Callable[[list[int]], None]) -> None:
    # The socket is the daemon's own, but whatever arrives must not end the worker.
    with contextlib.suppress(OSError, orjson.JSONDecodeError, TypeError):
        hooks = orjson.loads(ear.recv(65_536))
        called([hook for hook in hooks if isinstance(hook, int)])


def _forget(path: Path) -> None:
    path.unlink(missing_ok=True)


def worker_socket_path(database: Path) -> Path:
    """The socket on which the worker of this database hears the heralds."""
    path = database.with_suffix(".worker.sock")
    if len(str(path)) <= LONGEST_PATH:
        return path
    name = hashlib.sha256(str(path).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"tocsin-{name}.sock")
