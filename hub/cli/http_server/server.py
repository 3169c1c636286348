"""The HTTP servers of this process: sockets, options, and signals that end them."""

import asyncio
import contextlib
import os
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

import uvicorn
from starlette.types import ASGIApp

from hub.cli.http_server.connection_limiter import ConnectionLimiter
from hub.cli.http_server.handshake import Handshake
from hub.cli.http_server.protocol import Protocol
from hub.cli.http_server.server_limits import ServerLimits
from hub.cli.http_server.server_state import State
from store.errors import Unusable, from_os_error

# When the server ends, it waits LAST_CALL seconds for idle connections, and then GRACE seconds for
# running requests.
GRACE = 8
LAST_CALL = 1.0
# Connections that wait to be accepted. The system has a limit of its own, which is lower.
BACKLOG = 65_535
# The deadlines of connections are checked at every fifth of uvicorn's ticks: each 0.5 s. While the
# server ends, there are no ticks.
SWEEP, TICK = 5, 0.1
# The event loop accepts a connection three turns before it calls the protocol.
ACCEPT_TURNS = 5


class Server(uvicorn.Server):
    """uvicorn's server with an event `listening` and a shutdown that loses no request.

    `signals` handles the signals instead of uvicorn.
    """

    def __init__(self, app: ASGIApp, state: State, last_call: float) -> None:
        self._last_call = last_call
        super().__init__(
            uvicorn.Config(
                app,
                loop="none",
                http=Protocol if state.tls is None else Handshake,
                ws="none",
                access_log=False,
                log_config=None,
                server_header=False,
                proxy_headers=False,
                headers=[("server", "tocsin")],
                timeout_graceful_shutdown=GRACE,
                backlog=BACKLOG,
            )
        )
        self.server_state: State = state
        self.listening = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    async def on_tick(self, counter: int) -> bool:
        """Run uvicorn's tick, ten times a second. End connections whose deadline has passed."""
        if counter % SWEEP == 0:
            self._sweep()
        return await super().on_tick(counter)

    def _sweep(self) -> None:
        now = asyncio.get_running_loop().time()
        for connection in [*self.server_state.connections]:
            if isinstance(connection, Protocol) and connection.due <= now:
                connection.expire()

    async def _sweep_on(self) -> None:
        while True:
            self._sweep()
            await asyncio.sleep(SWEEP * TICK)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no new connections, and close the open ones after their current or next response.

        A client may just be sending a request on an idle connection. If the server closed the
        connection without a response, the request would be lost.
        """
        self.server_state.ending = True
        sweeping = asyncio.create_task(self._sweep_on())
        try:
            await self._close(sockets)
        finally:
            sweeping.cancel()

    async def _close(self, sockets: list[socket.socket] | None) -> None:
        await self._stop_accepting()
        for connection in self.server_state.connections:
            if isinstance(connection, Protocol):
                connection.last_call()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._last_call):
                while self.server_state.connections:  # noqa: ASYNC110 - a set has no event
                    await asyncio.sleep(0.02)
        await super().shutdown(sockets)

    async def _stop_accepting(self) -> None:
        """Close the listening sockets after the connections that the loop is accepting.

        If asyncio's server closes first, it neither serves such a connection nor closes it.
        """
        loop = asyncio.get_running_loop()
        for server in self.servers:
            for listener in server.sockets:
                loop.remove_reader(listener.fileno())
        for _ in range(ACCEPT_TURNS):
            await asyncio.sleep(0)
        for server in self.servers:
            server.close()


@contextlib.asynccontextmanager
async def serving(
    app: ASGIApp,
    *bound: socket.socket,
    last_call: float = LAST_CALL,
    limiter: ConnectionLimiter | None = None,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[asyncio.Task[None]]:
    """Serve `app` on bound sockets during the block, as HTTPS if `tls` is given. Yields the task.

    `limiter` admits connections and limits their requests. At the end, idle connections stay open
    for up to `last_call` seconds. Raises Unusable if the server ends before it listens.
    """
    state = State(limiter or ConnectionLimiter(ServerLimits()), tls)
    server = Server(app, state, last_call)
    task = asyncio.create_task(server.serve([*bound]))
    listening = asyncio.create_task(server.listening.wait())
    try:
        await asyncio.wait([task, listening], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
            raise Unusable("the server ended before it listened; the log says why")
        yield task
    finally:
        listening.cancel()
        server.should_exit = True
        await task


def bind(host: str, port: int) -> socket.socket:
    """Return a socket bound to this address. Port 0 means any free port.

    Raises Unusable or another error of `from_os_error` if the address cannot be bound.
    """
    said = f"cannot listen on {host} port {port}"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise from_os_error(said, error) from None
    except UnicodeError:
        raise Unusable(f"{said}: this is not a host name") from None
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise from_os_error(said, error) from None
    return bound


def port_of(bound: socket.socket) -> int:
    port: int = bound.getsockname()[1]
    return port


def url_of(bound: socket.socket, scheme: str = "http") -> str:
    """Return the root URL of a server on this socket."""
    host, port = bound.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def url_of_all(bound: Sequence[socket.socket], scheme: str) -> str:
    """Return the root URL of the first TCP socket, or `unix:PATH` if all are Unix sockets."""
    for one in bound:
        if one.family != socket.AF_UNIX:
            return url_of(one, scheme)
    return f"unix:{bound[0].getsockname()}"


@contextlib.contextmanager
def signals(call: Callable[[], None]) -> Iterator[None]:
    """Call `call` on the first SIGINT or SIGTERM during the block.

    The second signal ends the process.
    """
    loop = asyncio.get_running_loop()
    seen = False

    def received(number: int) -> None:
        nonlocal seen
        if seen:
            os._exit(128 + number)
        seen = True
        call()

    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, received, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
