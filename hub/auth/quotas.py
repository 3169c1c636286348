"""Who is counted, how much each may spend in which window, and where they stand."""

from dataclasses import dataclass

from hub.auth.rate_counters import WindowCounter
from hub.http.response import Header


@dataclass(frozen=True, slots=True)
class RateSubject:
    """Who is counted: a kind (user, installation, application, address) and which of them."""

    kind: str
    name: str

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.name}"

    @property
    def shown(self) -> str:
        """In messages."""
        if self.kind == "address":
            return (
                f"{self.name}. (But here's the good news: Authenticated requests get a higher rate"
                " limit. Check out the documentation for more details.)"
            )
        return f"{self.kind} ID {self.name}."


@dataclass(frozen=True, slots=True)
class Quota:
    """So many a window of so many seconds."""

    limit: int
    window: int


@dataclass(slots=True)
class RateStatus:
    """Where a caller stands with one of the limits."""

    resource: str
    limit: int
    used: int
    reset: int

    @property
    def remaining(self) -> int:
        return max(0, self.limit - self.used)

    def headers(self) -> list[Header]:
        return [
            (b"x-ratelimit-limit", b"%d" % self.limit),
            (b"x-ratelimit-remaining", b"%d" % self.remaining),
            (b"x-ratelimit-reset", b"%d" % self.reset),
            (b"x-ratelimit-used", b"%d" % min(self.used, self.limit)),
            (b"x-ratelimit-resource", self.resource.encode()),
        ]


@dataclass(slots=True)
class RateCharge:
    """What one request was charged."""

    subject: RateSubject
    quota: Quota
    count: WindowCounter
    charged: bool = False
    at_work: bool = False

    @property
    def status(self) -> RateStatus:
        count = self.count
        return RateStatus(count.resource, self.quota.limit, count.used, count.end)
