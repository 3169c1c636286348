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
class Offer:
    """New deliveries of one event, already leased to the worker that is offered them."""

    event_id: int
    guid: str
    name: str
    body: bytes
    deliveries: list[tuple[int, int, int]]
    """(delivery id, hook id, version of the hook)"""


class Courier(Protocol):
    """Where new work is announced."""

    def lease(self) -> int | None:
        """The lease under which new deliveries are made, or None when nobody here can take them."""

    def full(self) -> Collection[int]:
        """Hooks whose lanes take no more; their deliveries are made without a lease."""

    def offer(self, offers: Sequence[Offer]) -> None:
        """Hand over what was committed under the lease."""

    def wake(self, hooks: Iterable[int]) -> None:
        """Say that these hooks have something due in the store."""


class Herald:
    """Announces to a worker in another process by a datagram; nobody listening is no error."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def lease(self) -> int | None:
        return None

    def full(self) -> Collection[int]:
        return ()

    def offer(self, offers: Sequence[Offer]) -> None:
        raise AssertionError("nothing is leased here, so nothing can be offered")

    def wake(self, hooks: Iterable[int]) -> None:
        chosen = list(hooks)
        message = orjson.dumps(chosen if len(chosen) <= MOST_HOOKS else [])
        with contextlib.suppress(OSError):
            self._socket.sendto(message, self._path)

    def close(self) -> None:
        self._socket.close()


class _Ear(asyncio.DatagramProtocol):
    def __init__(self, called: Callable[[list[int]], None]) -> None:
        self._called = called

    def datagram_received(self, data: bytes, address: object) -> None:
        # The socket is the daemon's own, but whatever arrives must not end the worker.
        with contextlib.suppress(orjson.JSONDecodeError):
            hooks = orjson.loads(data)
            self._called([hook for hook in hooks if isinstance(hook, int)])


async def hear(path: Path, called: Callable[[list[int]], None]) -> Callable[[], None]:
    """Listen to the heralds of other processes at `path`; returns what ends it."""
    _forget(path)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: _Ear(called), local_addr=str(path), family=socket.AF_UNIX
    )

    def end() -> None:
        transport.close()
        _forget(path)

    return end


def _forget(path: Path) -> None:
    path.unlink(missing_ok=True)


def wake_path(database: Path) -> Path:
    """The socket on which the worker of this database hears the heralds."""
    path = database.with_suffix(".worker.sock")
    if len(str(path)) <= LONGEST_PATH:
        return path
    name = hashlib.sha256(str(path).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"tocsin-{name}.sock")
