"""The job that indexes the texts of payloads and answers for the dashboard's search.

It reads each portion in small transactions and stores it in one, newest first. After a crash it
continues with the portions that are left.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence

from store import Connection, Row, Store
from store.delivery import events
from store.text_index import portions, slices, trigrams
from store.text_index.portions import WIDTH, IndexHorizon
from store.text_index.slices import Parts, Slices
from worker.jobs.pauses import Pacer

log = logging.getLogger("tocsin.worker")

# Seconds between two runs.
INTERVAL = 10.0
# Bytes of payloads, and attempts whose answers, one transaction reads.
MOST_BYTES, ANSWERS = 256 * 1024, 64
# Portions that one transaction adds or deletes.
ADDED, DROPPED = 500, 4
# Seconds between two transactions that delete.
PAUSE = 0.02
# How often one run checks whether earlier transactions have ended, and the seconds between two
# checks.
LOOKS, LOOK_SECONDS = 50, 0.1


def next_drop(db: Connection) -> int | None:
    """Return when to delete the index if the setting is off: now (microseconds), or None if it is
    empty.
    """
    return None if portions.is_empty(db) else db.now


async def drop_index(store: Store) -> None:
    """Delete the whole index."""
    await _drop_all(store, portions.find)


async def index_texts(store: Store) -> None:
    """Index all complete portions that are new, or of which something was deleted."""
    await _drop_all(store, portions.find_without_attempts)
    await _add_portions(store)
    pace = Pacer()
    many = 0
    while (portion := await store.read(portions.next_due)) is not None:
        parts = await _indexed(store, portion.number, pace)
        many += await store.write_relaxed(slices.save, portion, parts)
    if many:
        log.info("texts of attempts: indexed %d portions", many)


async def _add_portions(store: Store) -> None:
    seen = await store.read(portions.horizon)
    if not await _settled(store, seen):
        # The next run tries again.
        return
    while numbers := await store.read(portions.find_new, seen.newest, ADDED):
        await store.write_relaxed(portions.add, numbers)
        await asyncio.sleep(PAUSE)


async def _settled(store: Store, seen: IndexHorizon) -> bool:
    """Wait for the transactions that may still add an attempt before the horizon."""
    for _ in range(LOOKS):
        if await store.read(portions.settled, seen):
            return True
        await asyncio.sleep(LOOK_SECONDS)
    return False


async def _indexed(store: Store, number: int, pace: Pacer) -> Parts:
    """Return the rows of a portion."""
    found = Slices()
    attempts: dict[int, list[int]] = {}
    for attempt_id, event_id in (await store.read(portions.attempts, number)).items():
        attempts.setdefault(event_id, []).append(attempt_id)
    waiting = list(attempts)
    while waiting:
        started = time.monotonic()
        bodies = await store.read(events.get_many, waiting, MOST_BYTES)
        await asyncio.to_thread(_add_payloads, found, bodies, attempts)
        waiting = waiting[len(bodies) :]
        await pace.rest(time.monotonic() - started)
    first = number * WIDTH
    for start in range(first, first + WIDTH, ANSWERS):
        answers = await store.read(portions.answers, start, start + ANSWERS)
        await asyncio.to_thread(_add_answers, found, answers)
    return await asyncio.to_thread(found.packed)


def _add_payloads(
    found: Slices, bodies: Mapping[int, Row | None], attempts: Mapping[int, Sequence[int]]
) -> None:
    for event_id, event in bodies.items():
        if event is not None and event["body"] is not None:
            text = event["body"].decode("utf-8", "replace")
            found.add(attempts[event_id], trigrams.bits(text))


def _add_answers(found: Slices, answers: Sequence[tuple[int, str]]) -> None:
    for attempt_id, answer in answers:
        found.add([attempt_id], trigrams.bits(answer))


async def _drop_all(store: Store, find: Callable[[Connection, int], list[int]]) -> None:
    while numbers := await store.read(find, DROPPED):
        await store.write_relaxed(portions.drop, numbers)
        await asyncio.sleep(PAUSE)
