"""The calls of a worker into the hub: emitting events, publishing snapshots, composing mails."""

from collections.abc import Sequence
from email.message import EmailMessage
from functools import cached_property
from typing import TYPE_CHECKING

from hub.cli.service.configuration import Settings
from store import Connection, Row

if TYPE_CHECKING:
    from hub.mail.composer import MailComposer
    from hub.worker_events import WorkerEvents


class HubCallbacks:
    """The functions of the hub for a worker, with the links and words of the settings.

    The functions need the serializers of the whole API, and import them at the first call. Until
    then, deliveries do not wait for the import. A worker that is alone in its process may never
    need the memory.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def _events(self) -> "WorkerEvents":
        from hub.worker_events import WorkerEvents

        return WorkerEvents(self._settings)

    @cached_property
    def _composer(self) -> "MailComposer":
        from hub.mail.composer import MailComposer

        return MailComposer(self._settings)

    def emit(self, db: Connection, event: str, rows: Sequence[Row]) -> None:
        """See `worker.publishing.EventEmitter`."""
        self._events(db, event, rows)

    def publish(self, db: Connection, resource: str, repo_id: int, rows: Sequence[Row]) -> None:
        """See `worker.jobs.republish.SnapshotPublisher`."""
        self._events.again(db, resource, repo_id, rows)

    def compose(self, db: Connection, mail: Row) -> EmailMessage | None:
        """See `worker.publishing.MailComposer`."""
        return self._composer(db, mail)
