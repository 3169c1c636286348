"""The target of each lane. It is read again from the store when its hook may have changed."""

import asyncio
import logging
from collections.abc import Collection
from math import log2

from store import Connection, Store
from store.clock import SECOND
from store.delivery import fan_out, leases
from store.hook_state import hook_pauses
from store.hook_state.hook_health import Cooldown
from store.hooks import hook_handshakes
from worker.delivery.concurrency import UNKNOWN_HOST
from worker.delivery.lane import Lane, QueuedDelivery
from worker.delivery.target import Target
from worker.delivery.target_loader import load_target
from worker.delivery.websub_target import load_websub_target
from worker.endpoint_access.handshake import Handshaker
from worker.http.guard import Guard
from worker.settings import WorkerSettings
from worker.slices import in_slices

log = logging.getLogger("tocsin.worker")


class TargetCache:
    """A cache that keeps the targets of lanes up to date.

    Reading a target raises Busy or Unavailable if the store fails.
    """

    def __init__(
        self, store: Store, settings: WorkerSettings, guard: Guard, handshaker: Handshaker
    ) -> None:
        self._store = store
        self._settings = settings
        self._guard = guard
        self._handshaker = handshaker

    def known(self, lane: Lane, item: QueuedDelivery) -> Target | None:
        """Return the target of this delivery, if nothing has to be read for it, else None."""
        if lane.reading.locked() or self._is_outdated(lane, item):
            return None
        return lane.target

    async def load(self, lane: Lane, item: QueuedDelivery) -> Target | None:
        """Return the target of this delivery. Return None if its hook is gone."""
        # Deliveries wait during the read, so nothing more is sent to the outdated target.
        waits = lane.reading.locked()
        if waits or self._is_outdated(lane, item):
            async with lane.reading:
                if self._is_outdated(lane, item, waited=waits):
                    await self._read(lane)
        return lane.target

    def _is_outdated(self, lane: Lane, item: QueuedDelivery, *, waited: bool = False) -> bool:
        target = lane.target
        if target is None or lane.stale or target.version < item.version:
            return True
        if waited and target.unanswered:
            # A receiver that is down is not asked once for each delivery that waited.
            return False
        return target.is_outdated(self._store.clock)

    async def _read(self, lane: Lane) -> None:
        reader = load_websub_target if lane.hook_id < 0 else load_target
        lane.invalidate()
        while lane.stale:
            lane.stale = False
            try:
                found = await self._store.read(reader, lane.hook_id, self._settings, self._guard)
                _set_host(lane, found)
                if found is not None and (found.misconfigured or found.handshake is not None):
                    changed = await self._settle(lane.hook_id, found)
                    lane.stale = lane.stale or changed
            except BaseException:
                lane.invalidate()
                raise
            before = lane.target
            if found and before and not found.is_receiver(before.url, before.version):
                # The former receiver may have failed or asked for a pause meanwhile.
                lane.forget_rests()
            lane.target = None if found is None else found.inherit_from(lane.target)
            restore(lane, self._store.clock.now(), asyncio.get_running_loop().time())

    async def _settle(self, hook_id: int, target: Target) -> bool:
        """Record that a hook is not usable, or ask for consent. Return whether it has changed."""
        if target.handshake is None:
            log.warning("hook %d is paused: %s", hook_id, target.misconfigured)
            record, version = hook_pauses.pause_unusable, target.version
            await self._store.write_relaxed(record, hook_id, version, target.misconfigured)
            return False
        consent = await self._handshaker.ask(target.handshake)
        if not consent.answered:
            target.fail_handshake(consent.problem)
            return False
        if consent.problem:
            log.warning("hook %d is paused: its handshake failed", hook_id)
            problem = target.mask(consent.problem)
            await self._store.write_relaxed(hook_handshakes.fail, hook_id, target.version, problem)
        else:
            await self._store.write_relaxed(
                hook_handshakes.grant, hook_id, target.version, consent.rate
            )
        return True

    async def check(self, lanes: Collection[Lane]) -> None:
        """Invalidate the lanes whose hooks were edited, in case a wake-up was lost.

        Also forget the targets that share a rate with another number of workers than before.
        """
        known: set[int] = set()
        async for some in in_slices(lanes):
            known.update(lane.hook_id for lane in some if lane.target is not None)
        if not known:
            return
        versions, workers = await self._store.read(_versions, known)
        async for some in in_slices(lanes):
            for lane in some:
                # A target that was read meanwhile is newer than these versions.
                if lane.target is not None and lane.hook_id in known:
                    _compare(lane, lane.target, versions.get(lane.hook_id))
                    if lane.target.policy.sharers not in (None, workers):
                        lane.forget_target()

    def change(self, settings: WorkerSettings, lanes: Collection[Lane]) -> None:
        """Have all targets read again, with these settings."""
        self._settings = settings
        for lane in lanes:
            lane.forget_target()


def _versions(db: Connection, hook_ids: set[int]) -> tuple[dict[int, int], int]:
    """Return the version of each of these hooks, and the number of workers."""
    return fan_out.versions(db, hook_ids), leases.live(db)


def _compare(lane: Lane, target: Target, version: int | None) -> None:
    """Invalidate the lane if its hook has another version now."""
    if target.version != version:
        lane.invalidate()
        # The edit may have repaired the hook, or ended the time for which its receiver asked for
        # nothing.
        lane.forget_rests()


def _set_host(lane: Lane, target: Target | None) -> None:
    endpoint = None if target is None else target.endpoint
    host = UNKNOWN_HOST if endpoint is None else endpoint.authority
    if host != lane.host:
        # `lane.machine` may still be an address of the former host.
        lane.host = host
        lane.machine = UNKNOWN_HOST if endpoint is None else endpoint.host


def restore(lane: Lane, now: int, loop_now: float) -> None:
    """Continue as the lane of a failing hook, when the hook is read for the first time.

    The hook was failing before this worker had the lane, such as before a restart.

    `now` is in microseconds, and `loop_now` is the time of the event loop's clock.
    """
    if lane.restored or lane.target is None:
        return
    lane.restored = True
    if not lane.target.failing:
        return
    lane.window = 1
    rest, breaker = lane.target.rest, lane.target.policy.breaker
    if rest is not None and breaker:
        lane.failures = breaker + _doublings(rest, lane.tuning.first_cooldown)
        left = min((rest.until - now) / SECOND, lane.tuning.max_cooldown)
        lane.cooldown_until = loop_now + left if left > 0 else 0.0


def _doublings(rest: Cooldown, first_cooldown: float) -> int:
    """Return how often the cooldown was doubled before the rest."""
    times = rest.length / SECOND / first_cooldown
    return round(log2(times)) if times > 1 else 0
