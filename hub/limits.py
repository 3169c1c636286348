"""Rate limits: what each caller may spend, in which window, and how much of it is gone.

Counting must not make a request wait for the disk. Counts are kept in memory, read from the store
when a caller is first seen, and what was added to them is written there once a second for all
callers in one statement, which also brings back what other hubs added. So they outlive a restart
(a crash forgets a second at most) and hold across hubs: together `n` of them let pass no more
than a limit and what reaches the others in one such second. How many requests of a caller are at
work at once is each hub's own count.
"""

import asyncio
import contextlib
import threading
import time
from dataclasses import dataclass
from zlib import crc32

from hub.answers import Header
from hub.errors import Exhausted, TooFast
from hub.settings import HubSettings
from store import Connection, Store, limits, logins
from store.clock import SECOND
from store.errors import StoreError

INTERVAL = 1.0
FORGET_EVERY = 600.0
MOST_SUBJECTS = 50_000
HOUR, MINUTE = 3600, 60
READ, WRITE = 1, 5
"""Points of a request that reads and of one that changes something."""
POINTS, CONTENT, CONTENT_HOURLY, BAD_TOKENS = "points", "content", "content/hour", "bad tokens"


@dataclass(frozen=True, slots=True)
class Subject:
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


@dataclass(slots=True, eq=False)
class Count:
    """Spent in the window from `start` to `end`, in seconds; `unsaved` of it in memory alone, and
    `saving` on its way to the store.
    """

    subject: str
    resource: str
    start: int
    end: int
    used: int = 0
    unsaved: int = 0
    saving: int = 0

    def take(self, amount: int) -> None:
        self.used += amount
        self.unsaved += amount


@dataclass(frozen=True, slots=True)
class Quota:
    """So many a window of so many seconds."""

    limit: int
    window: int


@dataclass(slots=True)
class Status:
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
class Ticket:
    """What one request was charged."""

    subject: Subject
    quota: Quota
    count: Count
    charged: bool = False
    at_work: bool = False

    @property
    def status(self) -> Status:
        count = self.count
        return Status(count.resource, self.quota.limit, count.used, count.end)


class Limits:
    """The counts of this hub. Safe to use from several threads."""

    def __init__(self, store: Store, settings: HubSettings) -> None:
        self._store = store
        self._settings = settings
        self._known = _quotas(settings, settings.rate_limits)
        self._anonymous = _quotas(settings, settings.rate_limits | settings.rate_limits_anonymous)
        self._points = Quota(settings.points_per_minute, MINUTE)
        self._content = Quota(settings.content_per_minute, MINUTE)
        self._content_hourly = Quota(settings.content_per_hour, HOUR)
        self._bad_tokens = Quota(settings.failed_tokens, settings.failed_login_seconds)
        self._lock = threading.Lock()
        self._counts: dict[str, dict[str, Count]] = {}
        self._changed: set[Count] = set()
        self._at_work: dict[str, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None
        self._forgotten = time.monotonic()

    def quotas(self, subject: Subject) -> dict[str, Quota]:
        """Every category with what this caller may spend of it."""
        return self._anonymous if subject.kind == "address" else self._known

    def charge(
        self,
        db: Connection,
        subject: Subject,
        category: str,
        *,
        points: int = READ,
        created: bool = False,
    ) -> Ticket:
        """Charge a request of this category. Exhausted, TooFast; then nothing is charged."""
        now = db.now // SECOND
        quota = self.quotas(subject)[category]
        wanted = [(POINTS, self._points, points)]
        if created:
            wanted += [(CONTENT, self._content, 1), (CONTENT_HOURLY, self._content_hourly, 1)]
        counts = self._of(db, subject)
        with self._lock:
            count = self._count(counts, subject, category, quota, now)
            if count.used >= quota.limit:
                status = Status(category, quota.limit, count.used, count.end)
                raise Exhausted(f"API rate limit exceeded for {subject.shown}", status.headers())
            ticket = Ticket(subject, quota, count)
            taken = [(self._count(counts, subject, r, q, now), q, n) for r, q, n in wanted]
            for one, limit, amount in taken:
                if one.used + amount > limit.limit:
                    raise TooFast(one.end - now, ticket.status.headers())
            self._begin(ticket)
            for one, amount in [(count, 1), *((one, amount) for one, _, amount in taken)]:
                one.take(amount)
                self._changed.add(one)
            ticket.charged = True
        return ticket

    def look(self, db: Connection, subject: Subject, category: str = "core") -> Ticket:
        """Where the caller stands, free of charge."""
        counts = self._of(db, subject)
        quota = self.quotas(subject)[category]
        with self._lock:
            count = self._count(counts, subject, category, quota, db.now // SECOND)
            return Ticket(subject, quota, count)

    def statuses(self, db: Connection, subject: Subject) -> list[Status]:
        """Where the caller stands with every category, as the store and this hub know."""
        self._load(db, subject.key)
        return [self.look(db, subject, name).status for name in self.quotas(subject)]

    def bad_token(self, db: Connection, subject: Subject) -> bool:
        """Count a token that was none; whether there were too many from there."""
        counts = self._of(db, subject)
        quota = self._bad_tokens
        with self._lock:
            count = self._count(counts, subject, BAD_TOKENS, quota, db.now // SECOND)
            if count.used >= quota.limit:
                return True
            count.take(1)
            self._changed.add(count)
        return False

    def refund(self, ticket: Ticket) -> None:
        """Give back what the request was charged of its category."""
        if ticket.charged:
            with self._lock:
                ticket.count.take(-1)
                ticket.charged = False
                self._changed.add(ticket.count)

    def _begin(self, ticket: Ticket) -> None:
        key = ticket.subject.key
        running = self._at_work.get(key, 0)
        if running >= self._settings.most_concurrent:
            raise TooFast(1, ticket.status.headers())
        self._at_work[key] = running + 1
        ticket.at_work = True

    def end(self, ticket: Ticket | None) -> None:
        """Say that the request is done with; on the event loop."""
        if ticket is not None and ticket.at_work:
            ticket.at_work = False
            key = ticket.subject.key
            with self._lock:
                self._at_work[key] -= 1
                if not self._at_work[key]:
                    del self._at_work[key]
        if self._changed and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._save_soon)

    def _of(self, db: Connection, subject: Subject) -> dict[str, Count]:
        found = self._counts.get(subject.key)
        return self._load(db, subject.key) if found is None else found

    def _load(self, db: Connection, key: str) -> dict[str, Count]:
        rows = limits.of(db, key)
        with self._lock:
            counts = self._counts.setdefault(key, {})
            for row in rows:
                self._learn(counts, limits.Spent(**row))
        return counts

    def _learn(self, counts: dict[str, Count], spent: limits.Spent) -> None:
        """Take over what the store says, beside what it does not know yet."""
        known = counts.get(spent.resource)
        if known is None or known.start < spent.window_start:
            counts[spent.resource] = Count(
                spent.subject, spent.resource, spent.window_start, spent.window_end, spent.used
            )
        elif known.start == spent.window_start:
            known.used = spent.used + known.saving + known.unsaved

    def _count(
        self, counts: dict[str, Count], subject: Subject, resource: str, quota: Quota, now: int
    ) -> Count:
        """The count of the window that is running."""
        found = counts.get(resource)
        if found is None or now >= found.end or found.end - found.start != quota.window:
            start = _start(subject.key, quota.window, now)
            found = Count(subject.key, resource, start, start + quota.window)
            counts[resource] = found
        return found

    def _save_soon(self) -> None:
        self._timer = None
        self._saving = asyncio.get_running_loop().create_task(self._save())

    async def _save(self) -> None:
        changed, spent = self._collect()
        try:
            known = await self._store.note(limits.add, spent)
        except StoreError:
            with self._lock:
                for count in changed:
                    count.unsaved += count.saving
                    count.saving = 0
                self._changed |= set(changed)
            return
        with self._lock:
            for count in changed:
                count.saving = 0
            for one in known:
                self._learn(self._counts.setdefault(one.subject, {}), one)
        await self._forget()

    def _collect(self) -> tuple[list[Count], list[limits.Spent]]:
        with self._lock:
            # Of one whose window has passed there is a newer one, which alone is of interest.
            changed = [one for one in self._changed if self._is_current(one)]
            self._changed.clear()
            spent = [
                limits.Spent(one.subject, one.resource, one.start, one.end, one.unsaved)
                for one in changed
            ]
            for one in changed:
                one.saving, one.unsaved = one.unsaved, 0
        return changed, spent

    def _is_current(self, count: Count) -> bool:
        return self._counts.get(count.subject, {}).get(count.resource) is count

    async def _forget(self) -> None:
        with self._lock:
            if len(self._counts) > MOST_SUBJECTS:
                # They are in the store, and read again when they are needed.
                busy = {one.subject for one in self._changed}
                self._counts = {key: self._counts[key] for key in busy if key in self._counts}
        if time.monotonic() - self._forgotten < FORGET_EVERY:
            return
        self._forgotten = time.monotonic()
        with contextlib.suppress(StoreError):
            await self._store.note(_drop, float(self._settings.failed_login_seconds))

    async def close(self) -> None:
        """Write what is not written yet."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._saving is not None:
            await self._saving
        if self._changed:
            await self._save()


def _drop(db: Connection, failed_login_seconds: float) -> None:
    limits.forget(db, db.now // SECOND)
    logins.forget(db, failed_login_seconds)


def _start(key: str, window: int, now: int) -> int:
    """When the window that is running began: the same for every hub, and not for every caller."""
    offset = crc32(key.encode()) % window
    return (now - offset) // window * window + offset


def _quotas(settings: HubSettings, numbers: dict[str, int]) -> dict[str, Quota]:
    return {
        name: Quota(number, settings.rate_windows.get(name, HOUR))
        for name, number in numbers.items()
    }
