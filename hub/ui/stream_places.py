"""The places for live streams of a process, and each viewer's share of them."""

from dataclasses import dataclass

from hub.ui.session_request import SessionRequest

# The maximum number of streams: in a process, and of these in a session, of a user, and of all who
# follow a link. A browser needs one for all its pages, or one for each page without SharedWorker.
MOST = 200
SHARES = {"session": 8, "user": 32, "guests": 50}

Group = tuple[str, str]
"""A kind of SHARES, and the name of one of its groups."""


@dataclass(eq=False, slots=True)
class StreamPlace:
    """The place of an open stream. If `lost`, a newer stream of one of its groups has it."""

    groups: tuple[Group, ...]
    lost: bool = False


class StreamPlaces:
    """The places of all open streams."""

    def __init__(self) -> None:
        self._taken: dict[StreamPlace, None] = {}

    def is_full(self) -> bool:
        """Return whether the process has MOST open streams."""
        return len(self._taken) >= MOST

    def take(self, visit: SessionRequest) -> StreamPlace:
        """Take a place. If a group of the viewer has its share, its oldest stream loses its place.

        The newest stream wins, because the hub does not always notice that a browser has gone.
        """
        place = StreamPlace(groups_of(visit))
        for group in place.groups:
            of_group = [one for one in self._taken if group in one.groups]
            if len(of_group) >= SHARES[group[0]]:
                of_group[0].lost = True
                self.leave(of_group[0])
        self._taken[place] = None
        return place

    def leave(self, place: StreamPlace) -> None:
        """Give a place back."""
        self._taken.pop(place, None)


def groups_of(visit: SessionRequest) -> tuple[Group, ...]:
    """Return the groups that share their places with an authenticated request's viewer."""
    viewer = visit.viewer
    if viewer is None:
        return ()
    session = ("session", visit.mark)
    if viewer.is_guest:
        return session, ("guests", "")
    return (session,) if viewer.caller is None else (session, ("user", viewer.name))
