"""Rate limits: what each caller may use in which window, and the errors beyond it.

The number of concurrent requests of a caller is limited by each hub on its own.
"""

from hub.auth.quotas import Quota, RateCharge, RateStatus, RateSubject
from hub.auth.rate_counters import RateCounters, WindowCounter
from hub.http.errors import Exhausted, TooFast
from hub.settings import HubSettings
from store import Connection, Store
from store.clock import SECOND

HOUR, MINUTE = 3600, 60
READ, WRITE = 1, 5
"""The points of a request that reads, and of one that writes."""
CORE = "core"
"""The category whose status requests without a category report."""
POINTS, CONTENT, CONTENT_HOURLY, BAD_TOKENS = "points", "content", "content/hour", "bad tokens"
ACTIONS, ACTIONS_PER_MINUTE = "actions", 180
"""Actions in the dashboard: as many as the API accepts writes by default."""


class RateLimits:
    """The rate limits of this hub. Safe for several threads."""

    def __init__(
        self, store: Store, settings: HubSettings, counters: RateCounters | None = None
    ) -> None:
        self._settings = settings
        self._known = _quotas(settings, settings.rate_limits)
        self._anonymous = _quotas(settings, settings.rate_limits | settings.rate_limits_anonymous)
        self._points = Quota(settings.points_per_minute, MINUTE)
        self._content = Quota(settings.content_per_minute, MINUTE)
        self._content_hourly = Quota(settings.content_per_hour, HOUR)
        self._bad_tokens = Quota(settings.failed_tokens, settings.failed_login_seconds)
        # Not `counters or ...`: RateCounters without counts are falsy, as they have a length.
        if counters is None:
            counters = RateCounters(store, float(settings.failed_login_seconds))
        self.counters = counters
        self._at_work: dict[str, int] = {}

    def quotas(self, subject: RateSubject) -> dict[str, Quota]:
        """Return the caller's quota for every category."""
        return self._anonymous if subject.kind == "address" else self._known

    def charge(
        self,
        db: Connection,
        subject: RateSubject,
        category: str,
        *,
        points: int = READ,
        created: bool = False,
    ) -> RateCharge:
        """Charge a request of this category. Without a category, charge only the other limits.

        Raises Exhausted or TooFast if a limit is reached; then nothing is charged. Without category
        and points, the request is free.
        """
        if not category and not points:
            return self.peek(db, subject)
        now = db.now // SECOND
        quota = self.quotas(subject)[category or CORE]
        wanted = [(POINTS, self._points, points)]
        if created:
            wanted += [(CONTENT, self._content, 1), (CONTENT_HOURLY, self._content_hourly, 1)]
        counts = self.counters.of(db, subject.key)
        with self.counters.lock:
            count = self._count(counts, subject, category or CORE, quota, now)
            if category and count.used >= quota.limit:
                status = RateStatus(category, quota.limit, count.used, count.end)
                raise Exhausted(f"API rate limit exceeded for {subject.shown}", status.headers())
            charge = RateCharge(subject, quota, count)
            counted = [(self._count(counts, subject, r, q, now), q, n) for r, q, n in wanted]
            for one, limit, amount in counted:
                if one.used + amount > limit.limit:
                    raise TooFast(one.end - now, charge.status.headers())
            self._begin(charge)
            charge.charged = bool(category)
            own = [(count, 1)] if category else []
            for one, amount in [*own, *((one, amount) for one, _, amount in counted)]:
                self.counters.take(one, amount)
        return charge

    def peek(self, db: Connection, subject: RateSubject, category: str = CORE) -> RateCharge:
        """Return a charge with the caller's status, without charging anything."""
        counts = self.counters.of(db, subject.key)
        quota = self.quotas(subject)[category]
        with self.counters.lock:
            count = self._count(counts, subject, category, quota, db.now // SECOND)
            return RateCharge(subject, quota, count)

    def statuses(self, db: Connection, subject: RateSubject) -> list[RateStatus]:
        """Return the caller's status for every category, refreshed from the store."""
        self.counters.load(db, subject.key)
        return [self.peek(db, subject, name).status for name in self.quotas(subject)]

    def record_bad_token(self, db: Connection, subject: RateSubject) -> bool:
        """Count a wrong token. Return whether the limit was reached already."""
        return self._record(db, subject, BAD_TOKENS, self._bad_tokens) is not None

    def record_action(self, db: Connection, subject: RateSubject) -> None:
        """Count an action in the dashboard. Raises TooFast beyond the limit."""
        end = self._record(db, subject, ACTIONS, Quota(ACTIONS_PER_MINUTE, MINUTE))
        if end is not None:
            raise TooFast(end - db.now // SECOND, [])

    def _record(self, db: Connection, subject: RateSubject, what: str, quota: Quota) -> int | None:
        """Count one. If the limit was reached already, return the end of the window in seconds."""
        counts = self.counters.of(db, subject.key)
        with self.counters.lock:
            count = self._count(counts, subject, what, quota, db.now // SECOND)
            if count.used >= quota.limit:
                return count.end
            self.counters.take(count, 1)
        return None

    def refund(self, charge: RateCharge) -> None:
        """Give back the charge for the request's category. Its points stay charged."""
        if charge.charged:
            with self.counters.lock:
                self.counters.take(charge.count, -1)
                charge.charged = False

    def _begin(self, charge: RateCharge) -> None:
        key = charge.subject.key
        running = self._at_work.get(key, 0)
        if running >= self._settings.most_concurrent:
            raise TooFast(1, charge.status.headers())
        self._at_work[key] = running + 1
        charge.at_work = True

    def end(self, charge: RateCharge | None) -> None:
        """Mark the request as finished, or as one that waits. Must be called on the event loop."""
        if charge is not None and charge.at_work:
            charge.at_work = False
            key = charge.subject.key
            with self.counters.lock:
                self._at_work[key] -= 1
                if not self._at_work[key]:
                    del self._at_work[key]
        self.counters.save_later()

    def _count(
        self,
        counts: dict[str, WindowCounter],
        subject: RateSubject,
        resource: str,
        quota: Quota,
        now: int,
    ) -> WindowCounter:
        return self.counters.running(counts, subject.key, resource, quota.window, now)

    async def close(self) -> None:
        """Write the changes."""
        await self.counters.close()


def _quotas(settings: HubSettings, numbers: dict[str, int]) -> dict[str, Quota]:
    return {
        name: Quota(number, settings.rate_windows.get(name, HOUR))
        for name, number in numbers.items()
    }
