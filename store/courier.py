"""How the store tells a worker that something is due.

The command that composes hub and worker in one process gives the store the worker's own courier,
which takes new deliveries straight from the transaction that made them. Otherwise the worker is
another process, and hears of it by a datagram.
"""

import contextlib
import socket
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import orjson

# A datagram that does not fit the socket's buffer is refused whole; beyond this many hooks the
# worker is told to look at all of them.
MOST_HOOKS = 500


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
