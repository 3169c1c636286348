"""Events for the worker's changes. The worker knows what changed, the groups know the payloads."""

from collections.abc import Mapping, Sequence

from hub import snapshots
from hub.operations import MODULES
from hub.rest import event_payloads, serializers
from hub.rest.group import BackgroundSerializer, SnapshotSerializer
from hub.rest.urls import Urls
from hub.rest.vocabulary import Vocabulary
from hub.settings import HubSettings
from store import Connection, Row
from store.delivery import outbox
from store.repositories import repositories


def _serializers() -> Mapping[str, BackgroundSerializer]:
    return {name: one for module in MODULES for name, one in module.ops.row_serializers.items()}


def _states() -> Mapping[str, SnapshotSerializer]:
    of_groups = {name: state for module in MODULES for name, state in module.ops.states.items()}
    return snapshots.STATES | of_groups


class WorkerEvents:
    """Emits events for changes in the background, with the links and words of the settings.

    Groups declare the payloads with `OperationGroup.declare_serializers`, or `declare_snapshots`
    for snapshots.
    """

    def __init__(self, settings: HubSettings) -> None:
        root = settings.root()
        self._urls = Urls(root)
        self._words = Vocabulary(settings.vocabulary, root)
        self._row_serializers = _serializers()
        self._states = _states()

    def __call__(self, db: Connection, event: str, rows: Sequence[Row]) -> None:
        """Emit `name.action` for each of these rows, in the transaction of the change.

        Raises KeyError for a name that no group has declared.
        """
        name, _, action = event.partition(".")
        data = self._row_serializers[name](self._urls, db, rows)
        payloads = event_payloads.payloads(self._urls, self._words, db, data)
        outbox.emit_many(db, name, action or None, payloads)

    def again(self, db: Connection, resource: str, repo_id: int, rows: Sequence[Row]) -> None:
        """Publish the present state of a repository's rows, as `snapshot_table` reads them.

        Raises KeyError for a resource that no group has declared.
        """
        repo = repositories.get(db, repo_id)
        assert repo is not None, "its rows are deleted with it"
        states = self._states[resource](self._urls, db, repo, rows)
        # Nobody caused the event, but receivers expect a sender.
        owner = serializers.simple_users(self._urls, db, [repo["owner_id"]])[repo["owner_id"]]
        data = [(repo, {"sender": owner} | state.payload) for state in states]
        payloads = event_payloads.payloads(self._urls, self._words, db, data)
        for state, (_, payload) in zip(states, payloads, strict=True):
            state.payload = payload
        outbox.republish(db, states)
