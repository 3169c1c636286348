"""The job that lets go of what retention says, a batch at a time."""

import asyncio
import logging
from collections.abc import Callable

from store import Connection, Store
from store.accounts import sessions
from store.artifacts import deployment_jobs
from store.assistant import usage
from store.assistant.usage_days import of_moment as day_of
from store.audit import audit_check
from store.clock import DAY, SECOND
from store.delivery import hook_secrets, replay_runs, retention, websub, websub_requests
from store.monitoring import minute_counters
from store.registry import republish_runs
from worker.jobs import reports
from worker.jobs.run_imports import clean_up
from worker.settings import WorkerSettings

log = logging.getLogger("tocsin.worker")

BATCH = 1_000
# Between batches others get their turn at the writer.
PAUSE = 0.02
# For how long what happened in each minute is shown.
TALLIES = 8 * DAY


async def prune(store: Store, settings: WorkerSettings) -> None:
    """Drop bodies, attempts, events, deleted hooks, what ended with WebSub, tallies, sessions and
    links of the dashboard, jobs of deployments, replays and publishing that have ended, usage and
    reports of it, and entries of the audit log, where they are older than they are kept.
    """
    now = store.clock.now()
    bodies = now - round(settings.keep_bodies * SECOND)
    attempts = now - round(settings.keep_attempts * SECOND)
    await _in_batches(store, retention.drop_bodies, bodies)
    await _in_batches(store, retention.drop_attempts, attempts)
    await _in_batches(store, retention.drop_events, attempts)
    await store.note(retention.drop_hooks, attempts)
    await store.note(_drop_websub, attempts)
    await _in_batches(store, hook_secrets.drop_expired, now)
    await _in_batches(store, minute_counters.drop, now - TALLIES)
    await store.note(sessions.forget)
    await store.note(deployment_jobs.forget, attempts)
    await store.note(replay_runs.RUNS.forget, attempts)
    await store.note(republish_runs.RUNS.forget, attempts)
    await clean_up(store, settings)
    await _in_batches(store, usage.drop, day_of(now - round(settings.keep_usage * SECOND)))
    await reports.prune(store, settings)
    if settings.keep_audit:
        entries = now - round(settings.keep_audit * SECOND)
        await store.write(audit_check.record_pruning, entries)
        await _in_batches(store, audit_check.drop, entries)


def _drop_websub(db: Connection, before: int) -> None:
    websub.drop(db, before)
    websub_requests.drop(db)


async def _in_batches(
    store: Store, drop: Callable[[Connection, int, int], int], before: int
) -> None:
    total = 0
    while True:
        many = await store.note(drop, before, BATCH)
        total += many
        if many < BATCH:
            break
        await asyncio.sleep(PAUSE)
    if total:
        log.info("%s: %d", drop.__name__, total)
