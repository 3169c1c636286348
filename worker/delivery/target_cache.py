"""Where each lane's deliveries go, as its hook is now: read again when it may have changed."""

from collections.abc import Collection

from store import Store
from store.delivery import subscribers
from worker.delivery.concurrency import UNKNOWN_HOST
from worker.delivery.lane import Lane, QueuedDelivery
from worker.delivery.target import Target, load_target
from worker.delivery.websub_target import load_websub_target
from worker.http.guard import Guard
from worker.settings import WorkerSettings


class TargetCache:
    """Keeps the lanes' targets. Reading one raises Busy or Unavailable."""

    def __init__(self, store: Store, settings: WorkerSettings, guard: Guard) -> None:
        self._store = store
        self._settings = settings
        self._guard = guard

    def known(self, lane: Lane, item: QueuedDelivery) -> Target | None:
        """Where this delivery goes, if nothing has to be read for it."""
        if lane.reading.locked() or self._is_outdated(lane, item):
            return None
        return lane.target

    async def target(self, lane: Lane, item: QueuedDelivery) -> Target | None:
        """Where this delivery goes; None where its hook is gone."""
        # Whoever comes while it is read waits: by what it was before nothing is sent any more.
        if lane.reading.locked() or self._is_outdated(lane, item):
            async with lane.reading:
                if self._is_outdated(lane, item):
                    await self._read(lane)
        return lane.target

    def _is_outdated(self, lane: Lane, item: QueuedDelivery) -> bool:
        target = lane.target
        if target is None or lane.stale or target.version < item.version:
            return True
        return target.over(self._store.clock.now())

    async def _read(self, lane: Lane) -> None:
        reader = load_websub_target if lane.hook_id < 0 else load_target
        lane.invalidate()
        while lane.stale:
            lane.stale = False
            try:
                found = await self._store.read(reader, lane.hook_id, self._settings, self._guard)
            except BaseException:
                lane.invalidate()
                raise
            lane.target = None if found is None else found.heir_of(lane.target)
            _lead(lane, found)

    async def check(self, lanes: Collection[Lane]) -> None:
        """Find the lanes whose hooks were edited without a word of it."""
        known = {lane.hook_id for lane in lanes if lane.target is not None}
        versions = await self._store.read(subscribers.versions, known) if known else {}
        for lane in lanes:
            target = lane.target
            # What was read meanwhile is newer than the answer.
            if target is None or lane.hook_id not in known:
                continue
            if target.version != versions.get(lane.hook_id):
                lane.invalidate()

    def change(self, settings: WorkerSettings, lanes: Collection[Lane]) -> None:
        """Read all of them again, by these settings."""
        self._settings = settings
        for lane in lanes:
            lane.forget()


def _lead(lane: Lane, target: Target | None) -> None:
    endpoint = None if target is None else target.endpoint
    host = UNKNOWN_HOST if endpoint is None else endpoint.authority
    if host != lane.host:
        # What is known of where the other one is says nothing of this one.
        lane.host = host
        lane.machine = UNKNOWN_HOST if endpoint is None else endpoint.host
