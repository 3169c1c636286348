"""The lanes: one for each hook with something in hand, due or learned."""

from collections.abc import Collection, Iterator

from worker.delivery.lane import Lane


class Lanes:
    """Lanes by their hook, and which of them take no more."""

    def __init__(self) -> None:
        self._lanes: dict[int, Lane] = {}
        self._full: set[int] = set()

    def of(self, hook_id: int) -> Lane:
        """The hook's lane, a new one if need be."""
        lane = self._lanes.get(hook_id)
        if lane is None:
            lane = self._lanes[hook_id] = Lane(hook_id)
        return lane

    def __contains__(self, hook_id: object) -> bool:
        return hook_id in self._lanes

    def __iter__(self) -> Iterator[Lane]:
        return iter(self._lanes.values())

    def __len__(self) -> int:
        return len(self._lanes)

    @property
    def full(self) -> Collection[int]:
        """Hooks whose lanes take no more, as of this moment; on any thread."""
        return tuple(self._full)

    @property
    def cooling_down(self) -> int:
        """How many leave their endpoint alone for a while."""
        return sum(1 for lane in self if lane.cooldown_until)

    def settle(self, lane: Lane) -> None:
        """See whether the lane takes more."""
        if lane.full:
            self._full.add(lane.hook_id)
        else:
            self._full.discard(lane.hook_id)

    def sweep(self) -> None:
        """Let go of those with which nothing is lost."""
        for lane in [lane for lane in self if lane.idle]:
            del self._lanes[lane.hook_id]
            self._full.discard(lane.hook_id)
