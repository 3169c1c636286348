"""The interface between the operations of pull hooks and the part that builds deliveries."""

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from store import Connection, Row
from store.pull.fetching import Acknowledgement, Fetch, FetchedDelivery, Rejection


class PullQueue(Protocol):
    """The deliveries of pull hooks. Each method runs in the transaction of its caller."""

    def fetch(self, db: Connection, hook: Row, request: Fetch) -> list[FetchedDelivery]:
        """Lease due deliveries to a consumer."""
        ...

    def next_at(self, db: Connection, hook: Row) -> int | None:
        """Return when `fetch` may find deliveries (microseconds), or None."""
        ...

    def acknowledge(self, db: Connection, hook: Row, replies: Sequence[Acknowledgement]) -> None:
        """Record the receiver's answers. Raises StaleLeases."""
        ...

    def reject(self, db: Connection, hook: Row, rejections: Sequence[Rejection]) -> None:
        """Record a failed attempt for each rejected delivery. Raises StaleLeases."""
        ...

    def extend(self, db: Connection, hook: Row, lease_ids: Collection[int], seconds: float) -> int:
        """Let leases expire in `seconds` seconds. Raises StaleLeases.

        Returns the time at which they expire, in microseconds.
        """
        ...

    def touch(self, db: Connection, hook: Row, lease_ids: Iterable[int]) -> None:
        """Record that the consumers who hold these leases made a request now."""
        ...
