"""The requests of a pull hook's consumers, and the deliveries that they get."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Fetch:
    """A request for up to `batch` deliveries under leases of `seconds` seconds."""

    consumer: str
    batch: int = 1
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class FetchedDelivery:
    """A delivery under a lease, with the very headers and body that a push would have.

    `expires_at` is in microseconds. `number` is 1 for the first attempt.
    """

    lease_id: int
    delivery_id: int
    guid: str
    event: str
    number: int
    redelivery: bool
    expires_at: int
    headers: dict[str, str]
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """The answer of the receiver to a delivery. `duration` is in microseconds, if it is known."""

    lease_id: int
    status: int = 200
    duration: int | None = None
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A delivery that the receiver did not answer, or does not want.

    If it is not `dead`, it is retried by the hook's schedule, or after `delay` seconds.
    """

    lease_id: int
    reason: str
    delay: float | None = None
    dead: bool = False
