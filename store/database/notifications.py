"""Notifications from the store to the worker that deliveries are due.

If hub and worker run in one process, the store has the worker's own notifier, which gets new
deliveries straight from the transaction that made them. Otherwise the worker is another process and
gets a datagram.
"""

import contextlib
import hashlib
import socket
import tempfile
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import orjson

from store.trace_context import TraceContext

# A datagram that exceeds the socket's buffer is refused. Beyond this many hooks, the worker is
# notified to look at all of them.
MOST_HOOKS = 500
# The limit of a socket's path in bytes. The kernel accepts 107.
LONGEST_PATH = 100


@dataclass(frozen=True, slots=True)
class Turn:
    """The place of an ordered delivery among the deliveries of its key.

    `sequence` is None for an event from before the hook was ordered. `out_of_turn` marks a
    redelivery. `gap` has the guids of the events that died before it. `since` is the time
    (microseconds) of its first attempt, or None.
    """

    key: str
    sequence: int | None
    out_of_turn: bool = False
    gap: tuple[str, ...] = ()
    since: int | None = None


@dataclass(slots=True)
class LeasedEvent:
    """New deliveries of one event, already leased to the worker that gets them."""

    lease_id: int
    event_id: int
    guid: str
    name: str
    body: bytes
    accepted_at: int
    deliveries: list[tuple[int, int, int]]
    """Delivery id, hook id, and the hook's version, for each delivery."""
    republished: bool = False
    """Whether the event is a snapshot of the state and not a change."""
    repo_id: int = 0
    turns: dict[int, Turn] = field(default_factory=dict)
    """The turns of the ordered deliveries, by delivery id."""
    trace: TraceContext | None = None
    """The place in a trace from which the event comes, or None."""


class WorkerNotifier(Protocol):
    """The interface through which new work is announced to workers."""

    def lease(self) -> int | None:
        """Return the lease for new deliveries, or None if no worker runs in this process."""

    def full(self) -> Collection[int]:
        """Return the hooks whose queues in the worker are full. Their deliveries get no lease."""

    def dispatch(self, offers: Sequence[LeasedEvent]) -> None:
        """Hand over deliveries that were committed under the lease."""

    def wake(self, hooks: Iterable[int]) -> None:
        """Notify the worker that these hooks have due deliveries in the store, or were edited."""

    def due(self, hooks: Iterable[int]) -> None:
        """Notify the worker that these hooks have due deliveries in the store. None was edited."""

    def arrived(self) -> None:
        """Notify the worker that events were stored, with or without deliveries."""


class StoreNotifier(WorkerNotifier, Protocol):
    """The interface through which the store announces new work, to workers and receivers."""

    def pushed(self, hooks: Iterable[int]) -> None:
        """Notify the worker that these hooks have due deliveries. None was edited, and none is a
        pull hook.
        """

    def pulled(self, hooks: Iterable[int]) -> None:
        """Notify the receivers of these pull hooks that deliveries are due."""


class RemoteNotifier:
    """The shared part of notifiers for workers in other processes. They cannot lease deliveries."""

    def lease(self) -> int | None:
        return None

    def full(self) -> Collection[int]:
        return ()

    def dispatch(self, offers: Sequence[LeasedEvent]) -> None:
        raise AssertionError("nothing is leased here, so nothing can be dispatched")

    def wake(self, hooks: Iterable[int]) -> None:
        raise NotImplementedError

    def due(self, hooks: Iterable[int]) -> None:
        self.wake(hooks)


class SocketNotifier(RemoteNotifier):
    """Notifies other processes by datagrams. It is no error if none listens at a path."""

    def __init__(self, *paths: Path) -> None:
        self._paths = [str(path) for path in paths]
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def wake(self, hooks: Iterable[int]) -> None:
        chosen = list(hooks)
        message = orjson.dumps(chosen if len(chosen) <= MOST_HOOKS else [])
        for path in self._paths:
            with contextlib.suppress(OSError):
                self._socket.sendto(message, path)

    def arrived(self) -> None:
        """Do nothing: everything but deliveries can wait for the worker's next poll."""

    def close(self) -> None:
        self._socket.close()


async def listen(path: Path, called: Callable[[list[int]], None]) -> Callable[[], None]:
    """Listen at `path` for notifications from other processes. Return the function that ends it."""
    # Commands import this module, and only daemons listen.
    import asyncio

    _forget(path)
    ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ear.setblocking(False)
    ear.bind(str(path))
    loop = asyncio.get_running_loop()
    # This is a plain reader, because uvloop supports datagrams only with hosts and ports.
    loop.add_reader(ear, _receive, ear, called)

    def end() -> None:
        loop.remove_reader(ear)
        ear.close()
        _forget(path)

    return end


def _receive(ear: socket.socket, called: Callable[[list[int]], None]) -> None:
    # The socket belongs to the daemon's user, but no datagram may end the worker.
    with contextlib.suppress(OSError, orjson.JSONDecodeError, TypeError):
        hooks = orjson.loads(ear.recv(65_536))
        called([hook for hook in hooks if isinstance(hook, int)])


def _forget(path: Path) -> None:
    path.unlink(missing_ok=True)


def worker_socket_path(database: Path) -> Path:
    """Return the socket on which the worker of this database receives notifications."""
    return _socket_path(database, ".worker.sock")


def hub_socket_path(database: Path) -> Path:
    """Return the socket on which a hub without a worker receives notifications."""
    return _socket_path(database, ".hub.sock")


def _socket_path(database: Path, suffix: str) -> Path:
    path = database.with_suffix(suffix)
    if len(str(path)) <= LONGEST_PATH:
        return path
    name = hashlib.sha256(str(path).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"tocsin-{name}.sock")
