"""The places for live streams of a process, and each viewer's share of them."""

from dataclasses import dataclass

from hub.ui.session_request import SessionRequest

# The maximum number of streams: in a process, and of these in a session, of a user, of all with
# links to one hook, and of all with links. A browser needs one for all its pages, or one for each
# page without SharedWorker. A stream that has lost its share goes on until it notices that, or
# until its last bytes are sent. So a group may have up to twice its share for a while.
MOST = 200
SHARES = {"session": 8, "user": 32, "hook": 16, "guests": 50}

Group = tuple[str, str]
"""A kind of SHARES, and the name of one of its groups."""


@dataclass(eq=False, slots=True)
class StreamPlace:
    """The place of an open stream. If `lost`, a newer stream of one of its groups has its share."""

    groups: tuple[Group, ...]
    lost: bool = False


class StreamPlaces:
    """The places of all open streams, lost ones too."""

    def __init__(self) -> None:
        self._taken: dict[StreamPlace, None] = {}

    def is_full(self, visit: SessionRequest) -> bool:
        """Return whether the process has MOST streams, or a group of the viewer twice its share."""
        return len(self._taken) >= MOST or any(
            len(self._of(group)) >= 2 * SHARES[group[0]] for group in groups_of(visit)
        )

    def _of(self, group: Group) -> list[StreamPlace]:
        return [one for one in self._taken if group in one.groups]

    def take(self, visit: SessionRequest) -> StreamPlace:
        """Take a place. If a group of the viewer has its share, its oldest stream loses its place.

        The newest stream wins, because the hub does not always notice that a browser has gone.
        """
        place = StreamPlace(groups_of(visit))
        for group in place.groups:
            kept = [one for one in self._of(group) if not one.lost]
            if len(kept) >= SHARES[group[0]]:
                kept[0].lost = True
        self._taken[place] = None
        return place

    def leave(self, place: StreamPlace) -> None:
        """Give a place back, when its stream has ended."""
        self._taken.pop(place, None)


def groups_of(visit: SessionRequest) -> tuple[Group, ...]:
    """Return the groups that share their places with an authenticated request's viewer."""
    viewer = visit.viewer
    if viewer is None:
        return ()
    session = ("session", visit.mark)
    if viewer.is_guest:
        return session, ("hook", viewer.identity), ("guests", "")
    return (session,) if viewer.caller is None else (session, ("user", viewer.name))
