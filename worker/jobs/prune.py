"""The job that deletes records past their retention, in batches."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from store import Connection, Store
from store.accounts import sessions
from store.alerts import alerts
from store.artifacts import deployment_jobs
from store.assistant import usage
from store.assistant.usage_days import of_moment as day_of
from store.audit import audit_check
from store.audit.audit_check import Chain
from store.clock import DAY, HOUR, LATEST, SECOND
from store.delivery import future_times, hook_removal, retention
from store.delivery.replays import replay_runs
from store.delivery.websub import websub, websub_foreign, websub_requests
from store.hooks import hook_links, hook_secrets, signing_keys
from store.hooks.retries import LONGEST
from store.jobs import jobs
from store.mail import notices, outbox
from store.monitoring import hook_tallies, minute_counters
from store.projection import projection_cursor
from store.pull import pull_leases
from store.registry import republish_runs
from store.repositories import refs
from worker.jobs import reports
from worker.jobs.run_imports import clean_up
from worker.settings import WorkerSettings

log = logging.getLogger("tocsin.worker")

BATCH = 1_000
# Seconds between two batches, so that other writers get their turn.
PAUSE = 0.02
# The time (microseconds) for which the counts of each minute are kept.
TALLIES = 8 * DAY
# The times (microseconds) for which the counts of each hook are kept: in fine slots, and in hours.
FINE_TALLIES, HOOK_TALLIES = 2 * DAY, 31 * DAY
# A push or a deletion of a deleted branch that comes later than this (microseconds) is not late.
REF_REPORTS = 31 * DAY

# If a run is later than this (microseconds), the clock may be fast, and only for a while.
LATE = DAY
# A run that failed so often before has been retried for most of a day, so the clock is right.
MANY_FAILURES = 24

# A consumer that repeats an answer within this time (microseconds) gets the same response.
PULL_LEASES = HOUR


async def prune(
    store: Store, settings: WorkerSettings, *, batch: int = BATCH, pause: float = PAUSE
) -> None:
    """Delete all that is older than its retention. If a run is late, ages count from its due time.

    Most transactions delete, or examine, up to `batch` rows. `pause` seconds pass between two.

    This covers:
    - bodies, attempts, events, deleted hooks, and notes about hooks that are gone;
    - waiting deliveries of removed hooks that no turn ends;
    - times of retries, mails, WebSub and ends of leases that are too far ahead, because the clock
      was fast;
    - ended WebSub subscriptions and requests, topics that nobody follows, and expired secrets;
    - requests that wait for WebSub while it is off;
    - ended leases of pull hooks;
    - alerts that are over, and mails that were sent or failed;
    - counts of each minute and of each hook, and sessions and links of the dashboard;
    - times of the last reports of branches and tags that are gone;
    - ended jobs of deployments, replays and republishing;
    - abandoned folders of imports;
    - usage and its reports;
    - entries of the audit log, unless `keep_audit` is 0.
    """
    present = store.clock.now()
    now = await store.read(_base)
    drop_all = partial(_drop_in_batches, store, batch, pause)
    bodies = now - round(settings.keep_bodies * SECOND)
    attempts = now - round(settings.keep_attempts * SECOND)
    # An event that is still to become state stays with its body.
    upto = (await store.read(projection_cursor.state))["event_id"] if settings.reflect else LATEST
    await _drop_in_steps(store, batch, pause, retention.drop_bodies, bodies, upto)
    await _drop_in_steps(store, batch, pause, retention.drop_attempts, attempts)
    await _drop_in_steps(store, batch, pause, retention.drop_events, attempts, upto)
    await drop_all(hook_removal.end_stranded, present)
    far = present + _longest_delay(settings)
    await drop_all(future_times.end_far_delays, far)
    await drop_all(future_times.end_far_leases, far)
    await drop_all(future_times.end_far_websub_times, present + HOUR)
    await drop_all(notices.end_far_delays, present + _longest_mail_delay(settings))
    await drop_all(retention.drop_hooks, attempts)
    await drop_all(websub.drop, attempts)
    if not settings.websub:
        # The tasks of WebSub would verify them.
        await drop_all(websub_requests.end_overdue, present - websub_requests.WAITING)
    await drop_all(websub_requests.drop, now)
    await _drop_in_steps(store, batch, pause, websub_foreign.drop_unfollowed, attempts)
    await drop_all(hook_secrets.drop_expired, now)
    await drop_all(signing_keys.drop_expired, now)
    await drop_all(alerts.drop, attempts)
    if settings.mail_host is None:
        # The job that sends mails would do this.
        await store.write_relaxed(outbox.fail_overdue)
    await drop_all(outbox.drop, attempts)
    await drop_all(minute_counters.drop, now - TALLIES)
    await drop_all(hook_tallies.merge, now - FINE_TALLIES)
    await drop_all(hook_tallies.drop, now - HOOK_TALLIES)
    await drop_all(refs.drop_reports, now - REF_REPORTS)
    await drop_all(pull_leases.drop_ended, now - PULL_LEASES)
    await store.write_relaxed(hook_links.forget)
    await store.write_relaxed(sessions.forget)
    await store.write_relaxed(deployment_jobs.forget, attempts)
    await store.write_relaxed(replay_runs.RUNS.forget, attempts)
    await store.write_relaxed(republish_runs.RUNS.forget, attempts)
    if not await store.read(_import_runs):
        await clean_up(store, settings)
    await drop_all(usage.drop, day_of(now - round(settings.keep_usage * SECOND)))
    await reports.prune(store, settings, now)
    if settings.keep_audit:
        entries = now - round(settings.keep_audit * SECOND)
        await _release_entries(store, batch, entries)
        await drop_all(audit_check.drop, entries)


def _base(db: Connection) -> int:
    """Return the time from which this run counts ages: the present, or when a late run was due.

    After a late run, the next one is on time. If runs fail, the job stays due at the same time. It
    must not keep everything until the failures end.
    """
    row = jobs.get(db, "prune")
    if row is None or row["due_at"] is None or row["failures"] >= MANY_FAILURES:
        return db.now
    due_at: int = row["due_at"]
    return due_at if db.now - due_at > LATE else db.now


def _import_runs(db: Connection) -> bool:
    """Return whether the job `import` runs.

    It cleans up itself, and only it knows the cancelled imports that still work in their folders.
    """
    row = jobs.get(db, "import")
    return row is not None and jobs.is_claimed(row, db.now)


async def _release_entries(store: Store, batch: int, before: int) -> None:
    """Check the entries of the audit log before a time, and record that they may be deleted."""
    last = await store.read(audit_check.last_before, before)
    chain, more = await store.read(audit_check.start_check), last > 0
    while more:
        chain, more = await store.read(_check_further, chain, batch, last)
    for problem in chain.found:
        log.warning("the audit log, before its old entries are deleted: %s", problem)
    if chain.count:
        await store.write(audit_check.record_pruning, chain)


def _check_further(db: Connection, chain: Chain, limit: int, last: int) -> tuple[Chain, bool]:
    chain = chain.copy()
    return chain, audit_check.check(db, chain, limit, last)


def _longest_delay(settings: WorkerSettings) -> int:
    """Return the microseconds that no delivery has to wait for its next attempt or its lease."""
    longest = max(LONGEST * (1 + settings.jitter), settings.max_retry_after)
    return round(longest * SECOND) + HOUR


def _longest_mail_delay(settings: WorkerSettings) -> int:
    """Return the microseconds that no alert and no mail has to wait."""
    return round(max(settings.mail_window, outbox.LONGEST_DELAY) * SECOND) + HOUR


async def _drop_in_steps(
    store: Store,
    batch: int,
    pause: float,
    drop: Callable[..., retention.Step],
    before: int,
    *upto: int,
) -> None:
    """Let `drop` examine all rows that may be old, some in each transaction.

    Each run begins at the oldest: what had to stay in the last run may go in this one.
    """
    total, reached = 0, 0
    while True:
        step = await store.write_relaxed(drop, before, batch, reached, *upto)
        total += step.dropped
        if step.reached is None:
            break
        reached = step.reached
        await asyncio.sleep(pause)
    if total:
        log.info("%s: %d", drop.__name__, total)


async def _drop_in_batches(
    store: Store,
    batch: int,
    pause: float,
    drop: Callable[[Connection, int, int], int],
    before: int,
) -> None:
    total = 0
    while True:
        many = await store.write_relaxed(drop, before, batch)
        total += many
        if many < batch:
            break
        await asyncio.sleep(pause)
    if total:
        log.info("%s: %d", drop.__name__, total)
