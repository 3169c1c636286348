"""The listener for administrators, which is separate from the API if `admin_bind` is set."""

import contextlib
import os
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hub.admin.observability import Observability
from hub.admin_settings import place
from hub.cli.http_server.connection_limiter import ConnectionLimiter
from hub.cli.http_server.server import bind, serving
from hub.cli.http_server.server_limits import ServerLimits, limits_of
from hub.cli.service.configuration import Settings
from hub.cli.service.swappable_app import SwappableApp
from store import Store
from store.errors import from_os_error

if TYPE_CHECKING:
    from hub.rest.context import CallbackValidator

# The maximum number of connections of administrators and their monitoring.
MOST = 64


class AdminListener:
    """The server of the pages and metrics for administrators, without the API.

    `describes` says whether it also serves the API's description, if that is for administrators
    only.
    """

    def __init__(
        self,
        store: Store,
        observability: Observability,
        callback_validator: "CallbackValidator",
        *,
        describes: bool,
    ) -> None:
        self._store = store
        self._observability = observability
        self._callback_validator = callback_validator
        self._describes = describes
        self.app = SwappableApp()
        self.limiter = ConnectionLimiter(ServerLimits())

    async def change(self, settings: Settings) -> None:
        """Answer with these settings from now on.

        Raises Unusable if they are wrong. The former application then goes on answering.
        """
        limits = limits_of(settings, settings.max_in_flight)
        # Imported here, because few daemons have this listener, and the import loads the whole hub
        # into a worker.
        from hub.app import create_admin_app

        given = self._store, settings, self._callback_validator, self._observability
        app = create_admin_app(*given, describes=self._describes)
        self.limiter.limits = replace(limits, connections=MOST)
        await self.app.put(app)


@contextlib.asynccontextmanager
async def running_admin(
    store: Store,
    settings: Settings,
    observability: Observability,
    callback_validator: "CallbackValidator",
    *,
    describes: bool,
) -> AsyncIterator[AdminListener | None]:
    """Serve administrators during the block, if the settings name an address for them.

    Otherwise, yields None.
    """
    if settings.admin_bind is None:
        yield None
        return
    with _bound(settings.admin_bind) as listening:
        admin = AdminListener(store, observability, callback_validator, describes=describes)
        await admin.change(settings)
        try:
            async with serving(admin.app, listening, last_call=0.0, limiter=admin.limiter):
                yield admin
        finally:
            await admin.app.close()


@contextlib.contextmanager
def _bound(named: str) -> Iterator[socket.socket]:
    where = place(named)
    if isinstance(where, tuple):
        with bind(*where) as listening:
            yield listening
        return
    with bind_path(where) as listening:
        try:
            yield listening
        finally:
            where.unlink(missing_ok=True)


def bind_path(path: Path) -> socket.socket:
    """Return a Unix socket bound to this path, for this user and its group.

    A socket that no process listens on any more is replaced. Raises Unusable or another error of
    `from_os_error` if the path cannot be bound.
    """
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o117)
    try:
        _remove_left(path)
        made.bind(str(path))
    except OSError as error:
        made.close()
        raise from_os_error(f"cannot listen on {path}", error) from None
    finally:
        os.umask(mask)
    return made


def _remove_left(path: Path) -> None:
    """Remove a socket that no process listens on any more."""
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        try:
            trial.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
