"""How the worker tells of what it changed: it knows what happened, the groups know the shapes."""

from collections.abc import Mapping, Sequence

from hub import current, emitting, shapes
from hub.group import Now, Teller
from hub.operations import MODULES
from hub.settings import HubSettings
from hub.urls import Urls
from hub.vocabulary import Vocabulary
from store import Connection, Row, own_events, repositories


def _tellers() -> Mapping[str, Teller]:
    return {name: teller for module in MODULES for name, teller in module.ops.tellers.items()}


def _states() -> Mapping[str, Now]:
    of_groups = {name: state for module in MODULES for name, state in module.ops.states.items()}
    return current.STATES | of_groups


class Telling:
    """Writes events of changes that nobody asked for, as the settings have their links and words.

    What a group's rows look like in an event is what it declared with `Group.told`, and for those
    that are published as they are, `Group.current`.
    """

    def __init__(self, settings: HubSettings) -> None:
        root = settings.root()
        self._urls = Urls(root)
        self._words = Vocabulary(settings.vocabulary, root)
        self._tellers = _tellers()
        self._states = _states()

    def __call__(self, db: Connection, event: str, rows: Sequence[Row]) -> None:
        """Write `name.action` of each of these rows, within the transaction of the change. KeyError
        for a name that no group has declared.
        """
        name, _, action = event.partition(".")
        told = self._tellers[name](self._urls, db, rows)
        payloads = emitting.payloads(self._urls, self._words, db, told)
        own_events.emit_all(db, name, action or None, payloads)

    def again(self, db: Connection, resource: str, repo_id: int, rows: Sequence[Row]) -> None:
        """Publish how these rows of a repository are, as `store.resources` reads them, and not that
        they have changed. KeyError for a resource that nobody has declared.
        """
        repo = repositories.get(db, repo_id)
        assert repo is not None, "what is its own would have gone with it"
        states = self._states[resource](self._urls, db, repo, rows)
        # Nobody did anything, and receivers look for who it was.
        owner = shapes.people(self._urls, db, [repo["owner_id"]])[repo["owner_id"]]
        told = [(repo, {"sender": owner} | state.payload) for state in states]
        payloads = emitting.payloads(self._urls, self._words, db, told)
        for state, (_, payload) in zip(states, payloads, strict=True):
            state.payload = payload
        own_events.publish_again(db, states)
