"""How the worker tells of what it changed: it knows what happened, the groups know the shapes."""

from collections.abc import Mapping, Sequence

from hub import emitting
from hub.operation import Teller
from hub.operations import MODULES
from hub.settings import HubSettings
from hub.urls import Urls
from hub.vocabulary import Vocabulary
from store import Connection, Row, events


def _tellers() -> Mapping[str, Teller]:
    return {name: teller for module in MODULES for name, teller in module.ops.tellers.items()}


class Telling:
    """Writes events of changes that nobody asked for, as the settings have their links and words.

    What a group's rows look like in an event is what it declared with `Group.told`.
    """

    def __init__(self, settings: HubSettings) -> None:
        root = settings.root()
        self._urls = Urls(root)
        self._words = Vocabulary(settings.vocabulary, root)
        self._tellers = _tellers()

    def __call__(self, db: Connection, event: str, rows: Sequence[Row]) -> None:
        """Write `name.action` of each of these rows, within the transaction of the change. KeyError
        for a name that no group has declared.
        """
        name, _, action = event.partition(".")
        told = self._tellers[name](self._urls, db, rows)
        payloads = emitting.payloads(self._urls, self._words, db, told)
        events.emit_all(db, name, action or None, payloads)
