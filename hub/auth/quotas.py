"""The subjects and quotas of rate limits, and a subject's status."""

from dataclasses import dataclass

from hub.auth.rate_counters import WindowCounter
from hub.http.response import Header


@dataclass(frozen=True, slots=True)
class RateSubject:
    """The party that a request is counted for.

    `kind` is user, installation, application or address.
    """

    kind: str
    name: str

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.name}"

    @property
    def shown(self) -> str:
        """Return its form in messages."""
        if self.kind == "address":
            return (
                f"{self.name}. (But here's the good news: Authenticated requests get a higher rate"
                " limit. Check out the documentation for more details.)"
            )
        return f"{self.kind} ID {self.name}."


@dataclass(frozen=True, slots=True)
class Quota:
    """The number of requests allowed in a window of `window` seconds."""

    limit: int
    window: int


@dataclass(slots=True)
class RateStatus:
    """A caller's status with one rate limit. `reset` is in seconds since 1970."""

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
    """The charge for one request."""

    subject: RateSubject
    quota: Quota
    count: WindowCounter
    charged: bool = False
    at_work: bool = False

    @property
    def status(self) -> RateStatus:
        count = self.count
        return RateStatus(count.category, self.quota.limit, count.used, count.end)
