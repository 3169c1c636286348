"""The lanes of all hooks that a worker has in memory."""

from collections.abc import Collection, Iterable, Iterator

from worker.delivery.lane import Lane
from worker.tuning import DEFAULTS, Tuning


class FullLanes(Collection[int]):
    """The hooks of full lanes, for threads that read them while the event loop's changes them."""

    def __init__(self, hook_ids: set[int]) -> None:
        self._hook_ids = hook_ids

    def __contains__(self, hook_id: object) -> bool:
        return hook_id in self._hook_ids

    def __len__(self) -> int:
        return len(self._hook_ids)

    def __iter__(self) -> Iterator[int]:
        # The copy is made at once, so no other thread changes the set meanwhile.
        return iter(tuple(self._hook_ids))


class LaneTable:
    """The lanes by hook.

    A lane that has become idle stays until `remove_idle`, with the window that it has reached.
    """

    def __init__(self, tuning: Tuning = DEFAULTS) -> None:
        self._tuning = tuning
        self._lanes: dict[int, Lane] = {}
        self._full: set[int] = set()
        self.full: Collection[int] = FullLanes(self._full)
        """The hooks whose lanes are full now. It may be read on any thread."""

    def get(self, hook_id: int) -> Lane:
        """Return the hook's lane. Make a new one if there is none."""
        lane = self._lanes.get(hook_id)
        if lane is None:
            lane = self._lanes[hook_id] = Lane(hook_id, tuning=self._tuning)
        return lane

    def __contains__(self, hook_id: object) -> bool:
        return hook_id in self._lanes

    def __iter__(self) -> Iterator[Lane]:
        return iter(self._lanes.values())

    def __len__(self) -> int:
        return len(self._lanes)

    @property
    def cooling_down(self) -> int:
        """Return how many endpoints are in a cooldown."""
        return sum(1 for lane in self if lane.cooldown_until)

    def update_full(self, lane: Lane) -> None:
        """Update whether the lane counts as full."""
        if lane.full:
            self._full.add(lane.hook_id)
        else:
            self._full.discard(lane.hook_id)

    def remove_idle(self, lanes: Iterable[Lane]) -> None:
        """Remove the lanes, among these, that hold and expect nothing."""
        for lane in lanes:
            if lane.idle:
                del self._lanes[lane.hook_id]
                self._full.discard(lane.hook_id)
