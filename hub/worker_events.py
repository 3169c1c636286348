"""How the worker tells of what it changed: it knows what happened, the groups know the shapes."""

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
    return {name: teller for module in MODULES for name, teller in module.ops.tellers.items()}


def _states() -> Mapping[str, SnapshotSerializer]:
    of_groups = {name: state for module in MODULES for name, state in module.ops.states.items()}
    return snapshots.STATES | of_groups


class WorkerEvents:
    """Writes events of changes that nobody asked for, as the settings have their links and words.

    What a group's rows look like in an event is what it declared with `Group.told`, and for those
    that are published as they are, `Group.current`.
    """

    def __init__(self, settings: HubSettings) -> None:
        root = settings.root()
        self._urls = Urls(root)
        self._words = Vocabulary(settings.vocabulary, root)
        self._tellers = _serializers()
        self._states = _states()

    def __call__(self, db: Connection, event: str, rows: Sequence[Row]) -> None:
        """Write `name.action` of each of these rows, within the transaction of the change. KeyError
        for a name that no group has declared.
        """
        name, _, action = event.partition(".")
        told = self._tellers[name](self._urls, db, rows)
        payloads = event_payloads.payloads(self._urls, self._words, db, told)
        outbox.emit_many(db, name, action or None, payloads)

    def again(self, db: Connection, resource: str, repo_id: int, rows: Sequence[Row]) -> None:
        """Publish how these rows of a repository are, as `snapshot_sources` reads them,
        and not that they have changed. KeyError for a resource that nobody has declared.
        """
        repo = repositories.get(db, repo_id)
        assert repo is not None, "what is its own would have gone with it"
        states = self._states[resource](self._urls, db, repo, rows)
        # Nobody did anything, and receivers look for who it was.
        owner = serializers.simple_users(self._urls, db, [repo["owner_id"]])[repo["owner_id"]]
        told = [(repo, {"sender": owner} | state.payload) for state in states]
        payloads = event_payloads.payloads(self._urls, self._words, db, told)
        for state, (_, payload) in zip(states, payloads, strict=True):
            state.payload = payload
        outbox.republish(db, states)
