"""HTTP servers of this process: their socket, their options, and signals that end them."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator

import uvicorn
from starlette.types import ASGIApp

from store.errors import Unusable

GRACE = 10


class Server(uvicorn.Server):
    """uvicorn, with signals left to `until_signal` and a way to wait until it listens."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="none",
                http="httptools",
                ws="none",
                access_log=False,
                log_config=None,
                server_header=False,
                proxy_headers=False,
                headers=[("server", "tocsin")],
                timeout_graceful_shutdown=GRACE,
            )
        )
        self.listening = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@contextlib.asynccontextmanager
async def serving(app: ASGIApp, bound: socket.socket) -> AsyncIterator[asyncio.Task[None]]:
    """Serve `app` on a bound socket for the length of the block; gives the task that does it."""
    server = Server(app)
    task = asyncio.create_task(server.serve([bound]))
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
    """A socket bound to this address, 0 for any free port. Unusable where that cannot be."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        raise Unusable(f"cannot listen on {host} port {port}: {error.strerror}") from None
    return bound


def port_of(bound: socket.socket) -> int:
    """The port that a socket is bound to."""
    port: int = bound.getsockname()[1]
    return port


def url_of(bound: socket.socket) -> str:
    """The root URL of what is served on a socket."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextlib.contextmanager
def signals(call: Callable[[], None]) -> Iterator[None]:
    """Have SIGINT and SIGTERM call `call` the first time, and end the process the second."""
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
