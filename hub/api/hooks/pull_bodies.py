"""Bodies of the requests and responses with which receivers fetch deliveries of pull hooks."""

from typing import Annotated, NotRequired

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import StringConstraints, with_config
from typing_extensions import TypedDict

from hub.rest.validation import Text

# The limits of a request: deliveries, seconds of a lease and of waiting, and bytes of an answer.
MOST_BATCH, MOST_LEASE, MOST_WAIT, MOST_ANSWER = 100, 3600, 60, 65_536

LeaseId = Annotated[int, Ge(1), Le(2**63 - 1)]
LeaseSeconds = Annotated[int, Ge(1), Le(MOST_LEASE)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$")]
HeaderName = Annotated[str, StringConstraints(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$")]


@with_config({"extra": "forbid"})
class FetchRequest(TypedDict, total=False):
    """How many deliveries a consumer wants, for how long, and how long it waits for the first.

    Times are in seconds. `consumer` names the program, for those who want to know who fetches.
    """

    consumer: Name
    batch: Annotated[int, Ge(1), Le(MOST_BATCH)]
    lease_seconds: LeaseSeconds
    max_wait: Annotated[float, Ge(0), Le(MOST_WAIT)]


class LeasedDelivery(TypedDict):
    """A delivery under a lease. `headers` and `body` (base64) are what a request would have."""

    lease_id: int
    guid: str
    event: str
    attempt: int
    redelivery: bool
    expires_at: str
    headers: dict[str, str]
    body: str


class LeasedDeliveries(TypedDict):
    deliveries: list[LeasedDelivery]


@with_config({"extra": "forbid"})
class Answer(TypedDict):
    """The receiver's answer to a delivery: by default status 200. `duration` is in seconds."""

    lease_id: LeaseId
    status: NotRequired[Annotated[int, Ge(100), Le(599)]]
    duration: NotRequired[Annotated[float, Ge(0), Le(MOST_LEASE)]]
    headers: NotRequired[Annotated[dict[HeaderName, Annotated[Text, MaxLen(8192)]], MaxLen(100)]]
    body: NotRequired[Annotated[str, MaxLen(MOST_ANSWER)]]


@with_config({"extra": "forbid"})
class Answers(TypedDict):
    leases: Annotated[list[Answer], MinLen(1), MaxLen(MOST_BATCH)]


@with_config({"extra": "forbid"})
class RejectedLease(TypedDict):
    """A delivery without an answer, and when it is tried again: by the schedule, or in `delay`
    seconds.

    With `dead`, it is not tried again.
    """

    lease_id: LeaseId
    reason: NotRequired[Annotated[Text, MinLen(1), MaxLen(500)]]
    delay: NotRequired[Annotated[float, Ge(0), Le(7 * 86_400)]]
    dead: NotRequired[bool]


@with_config({"extra": "forbid"})
class RejectedLeases(TypedDict):
    leases: Annotated[list[RejectedLease], MinLen(1), MaxLen(MOST_BATCH)]


@with_config({"extra": "forbid"})
class Extension(TypedDict):
    """Leases that expire `lease_seconds` seconds from now: by default 60."""

    leases: Annotated[list[LeaseId], MinLen(1), MaxLen(MOST_BATCH)]
    lease_seconds: NotRequired[LeaseSeconds]


class Expiry(TypedDict):
    expires_at: str


class HookConsumer(TypedDict):
    """A program that fetches deliveries. `leases` is how many it holds.

    It is `attached` while it asks for deliveries, and for two minutes after that.
    """

    name: str
    since: str
    last_seen: str
    attached: bool
    leases: int
