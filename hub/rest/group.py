"""Groups of operations, as the specification has them: where these are declared, and the events
that tell of what they change.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, Unpack

from hub.auth.access import Access, OnRepo
from hub.rest.event_payloads import EventData
from hub.rest.operation import Operation, OperationOptions, derive
from hub.rest.resolve import Loader, steps_of
from hub.rest.urls import Urls
from store import Connection, Row
from store.delivery.outbox import SnapshotEvent

F = TypeVar("F", bound=Callable[..., Any])
BackgroundSerializer = Callable[[Urls, Connection, Sequence[Row]], list[EventData]]
"""Says what is told of rows that changed though nobody asked for it, in their order."""

SnapshotSerializer = Callable[[Urls, Connection, Row, Sequence[Row]], list[SnapshotEvent]]
"""Says how rows of a repository are, as `snapshot_sources` reads them: `repository` and `sender`
are
added where the payload is without them.
"""

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class OperationGroup:
    """Operations of one group of the specification.

    `loaders` say how path parameters become rows: with `hook_id=hooks.get`, `{hook_id}` in a path
    becomes the argument `hook`, found within the row of the parameter before it; see
    `resolve.Loader`. With `resolve.text` a parameter is given to the handler as it is.
    """

    def __init__(self, name: str, /, **loaders: Loader) -> None:
        self.name = name
        self.operations: list[Operation] = []
        self.events: dict[str, Any] = {}
        self.tellers: dict[str, BackgroundSerializer] = {}
        self.states: dict[str, SnapshotSerializer] = {}
        self._loaders = loaders

    def tells(self, **payloads: Any) -> None:
        """Declare the payloads (types) of events under the hub's own names."""
        self.events |= payloads

    def told(self, **tellers: BackgroundSerializer) -> None:
        """Declare, by the event's name, how rows are told of that the worker changed."""
        self.tellers |= tellers

    def current(self, **states: SnapshotSerializer) -> None:
        """Declare, by a resource's name in `snapshot_sources`, how its present state is told of."""
        self.states |= states

    def __call__(
        self, line: str, access: Access, **details: Unpack[OperationOptions]
    ) -> Callable[[F], F]:
        """Declare the function below as the operation of this line of the reference."""
        method, _, path = line.partition(" ")
        assert method in METHODS, line
        assert path.startswith("/"), line
        assert isinstance(access, Access), f"{line}: who may?"
        assert method == "GET" or not access.anyone, f"{line}: nobody changes things unnamed"
        own = "client_id" if access.credentials == "app" else ""
        steps = steps_of(path, self._loaders, but=own)
        if isinstance(access, OnRepo):
            assert steps, f"{path}: access is to the path's first row"

        def declare(function: F) -> F:
            self.operations.append(
                derive(self.name, method, path, access, steps, function, details)
            )
            return function

        return declare
