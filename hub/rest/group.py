"""Groups of operations, as the specification divides them.

Operations are declared here, and so are the events that report their changes.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, Unpack

from hub.auth.access import Access
from hub.auth.repository_access import OnRepo
from hub.rest.event_payloads import EventData
from hub.rest.operation import Operation, OperationOptions, derive
from hub.rest.resolve import Loader, steps_of
from hub.rest.urls import Urls
from store import Connection, Row
from store.delivery.outbox import SnapshotEvent

F = TypeVar("F", bound=Callable[..., Any])
BackgroundSerializer = Callable[[Urls, Connection, Sequence[Row]], list[EventData]]
"""Returns the events for rows that changed in the background, in the order of the rows."""

SnapshotSerializer = Callable[[Urls, Connection, Row, Sequence[Row]], list[SnapshotEvent]]
"""Returns the events that describe a repository's rows as they are now.

The rows are read by `snapshot_table`. `repository` and `sender` are added to payloads that lack
them.
"""

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class OperationGroup:
    """The operations of one group of the specification.

    `loaders` turn path parameters into rows. With `hook_id=hooks.get`, the parameter `{hook_id}`
    becomes the argument `hook`, looked up within the row of the parameter before it; see
    `resolve.Loader`. With `resolve.text` the handler receives the parameter as it is.
    """

    def __init__(self, name: str, /, **loaders: Loader) -> None:
        self.name = name
        self.operations: list[Operation] = []
        self.events: dict[str, Any] = {}
        self.row_serializers: dict[str, BackgroundSerializer] = {}
        self.states: dict[str, SnapshotSerializer] = {}
        self._loaders = loaders

    def mount(self, name: str, /, **loaders: Loader) -> "OperationGroup":
        """Return a group for the same functions at other paths, with a name and loaders of its own.

        Its operations are this group's too.
        """
        mounted = OperationGroup(name, **loaders)
        mounted.operations = self.operations
        return mounted

    def declare_events(self, **payloads: Any) -> None:
        """Declare the payload types of events under the hub's own names."""
        self.events |= payloads

    def declare_serializers(self, **row_serializers: BackgroundSerializer) -> None:
        """Declare, by event name, the serializers for rows that the worker changed."""
        self.row_serializers |= row_serializers

    def declare_snapshots(self, **states: SnapshotSerializer) -> None:
        """Declare, by resource name in `snapshot_table`, the serializers of its present state."""
        self.states |= states

    def __call__(
        self, line: str, access: Access, **details: Unpack[OperationOptions]
    ) -> Callable[[F], F]:
        """Declare the decorated function as the operation of this line of the reference."""
        method, _, path = line.partition(" ")
        assert method in METHODS, line
        assert path.startswith("/"), line
        assert isinstance(access, Access), f"{line}: access is missing"
        open_to_all = access.anyone and access.credentials != "none"
        assert method == "GET" or not open_to_all, f"{line}: a change requires credentials"
        own = "client_id" if access.credentials == "app" else ""
        steps = steps_of(path, self._loaders, but=own)
        if isinstance(access, OnRepo):
            assert steps, f"{path}: access to a repository requires one in the path"

        def declare(function: F) -> F:
            self.operations.append(
                derive(self.name, method, path, access, steps, function, details)
            )
            return function

        return declare
