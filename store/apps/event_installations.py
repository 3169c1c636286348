"""The installations that events are for: the payloads for an app's hook name them.

An event is stored once for all hooks, without the installation. So a rule about the payload of an
app's hook must add it first, as the worker does before it sends the payload.
"""

from collections.abc import Iterable

from store.database.connection import Connection, json_array
from store.hooks.event_names import UNASKED_EVENTS

ABOUT_APPS = ", ".join(f"'{name}'" for name in sorted(UNASKED_EVENTS))
NAMED = (
    f"CASE WHEN e.name IN ({ABOUT_APPS}) OR (e.repo_id = 0 AND e.org_id = 0) THEN 0 ELSE i.id END"
)
"""SQL for the installation `i` that an event `e` names: 0 if it names none, or null if none covers
it.
"""


def _covering(app_id: str) -> str:
    """Return SQL that joins an event `e` with the installation `i` of an app that covers it."""
    return (
        " LEFT JOIN repository r ON r.id = e.repo_id"
        f" LEFT JOIN installation i ON i.app_id = {app_id}"
        " AND i.suspended_at IS NULL AND i.account_id = COALESCE(r.owner_id, e.org_id)"
        " AND (i.every_repository = 1 OR e.repo_id = 0 OR EXISTS"
        " (SELECT 1 FROM installation_repository c WHERE c.installation_id = i.id"
        " AND c.repo_id = e.repo_id))"
    )


def covers(db: Connection, app_id: int, event_id: int) -> bool:
    return db.exists(
        f"SELECT i.id FROM event e{_covering(':app_id')} WHERE e.id = :event_id",
        app_id=app_id,
        event_id=event_id,
    )


def named_in(db: Connection, app_id: int, event_id: int) -> int | None:
    """Return the id of the app's installation that an event's payload names, or None.

    It is None if the installation was removed or suspended, or does not cover the repository. It is
    0 if the payload stays as it is: the event belongs to no account, as a ping does, or is itself
    about the app.
    """
    return db.optional_number(
        f"SELECT {NAMED} FROM event e{_covering(':app_id')} WHERE e.id = :event_id",
        app_id=app_id,
        event_id=event_id,
    )


class EventInstallations:
    """The installations that events name for the hooks of apps. Each is looked up once."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._known: dict[tuple[int, int], int] = {}

    def load(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Look up the installations for pairs of an app and an event, in one statement."""
        missing = set(pairs) - self._known.keys()
        if not missing:
            return
        rows = self._db.tuples(
            f"SELECT w.app_id, w.event_id, {NAMED} FROM"
            f" {self._db.each('pairs', app_id='integer', event_id='integer')} AS w"
            f" JOIN event e ON e.id = w.event_id{_covering('w.app_id')}",
            pairs=json_array(sorted(missing)),
        )
        found = {(app_id, event_id): number or 0 for app_id, event_id, number in rows}
        self._known |= dict.fromkeys(missing, 0) | found

    def of(self, app_id: int, event_id: int) -> int:
        """Return the id of the installation that an event names for an app's hook, or 0."""
        self.load([(app_id, event_id)])
        return self._known[app_id, event_id]
