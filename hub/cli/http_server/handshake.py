"""The TLS handshake of a new connection."""

import asyncio
import math
from collections.abc import Awaitable, Coroutine, Generator
from typing import Any, Generic, TypeVar

from uvicorn.config import Config

from hub.cli.http_server.connection_limiter import Peer, address_of
from hub.cli.http_server.protocol import Protocol
from hub.cli.http_server.server_state import State

T = TypeVar("T")


class StartedCoroutine(Generic[T]):
    """An awaitable for a coroutine that already ran up to its first future."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._future = coroutine.send(None)

    def __await__(self) -> Generator[Any, Any, T]:
        yield self._future
        return (yield from self._coroutine.__await__())


class Handshake(asyncio.Protocol):
    """A connection until its TLS handshake is complete. Then `Protocol` takes it over.

    The event loop's own TLS reports a connection only after the handshake. Without this class, no
    limit would count the connections that never complete it.
    """

    due = math.inf

    def __init__(
        self,
        config: Config,
        server_state: State,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._state = server_state
        self._limiter = server_state.limiter
        self._loop = _loop or asyncio.get_running_loop()
        self._peer: Peer | None = None
        self._raw: asyncio.Transport | None = None
        self._early: list[bytes] = []
        self._task: asyncio.Task[None] | None = None
        self._config, self._app_state = config, app_state

    def connection_made(  # type: ignore[override]  # the transport is writable
        self, transport: asyncio.Transport
    ) -> None:
        self._peer = self._limiter.admit(address_of(transport))
        if self._peer is None:
            # An HTTP response would need the handshake, which is the most expensive part.
            transport.abort()
            return
        self._raw = transport
        self._peer.waiting[self] = None
        self._state.connections.add(self)  # type: ignore[arg-type]  # shutdown closes it too
        seconds = self._limiter.limits.header_timeout
        context = self._state.tls
        assert context is not None, "made for HTTPS alone"
        secured = self._loop.start_tls(
            transport, self, context, server_side=True, ssl_handshake_timeout=seconds
        )
        # Start at once: data that is read before the coroutine begins would be lost.
        begun = StartedCoroutine(secured)
        self._task = self._loop.create_task(self._shake_hands(begun, transport))

    async def _shake_hands(
        self, secured: Awaitable[asyncio.Transport | None], raw: asyncio.Transport
    ) -> None:
        try:
            secure = await secured
        except OSError as error:
            # Other errors mean that the client left, or sent no TLS that this server supports.
            if isinstance(error, ConnectionAbortedError):
                self._limiter.timed_out()
            self.evict()
        else:
            self._hand_over(secure, raw)

    def _hand_over(self, secure: asyncio.Transport | None, raw: asyncio.Transport) -> None:
        # If either side aborts, the coroutine can still return as if the handshake were complete.
        if secure is None or raw.is_closing() or self._peer is None:
            self.evict()
            return
        peer, self._peer = self._peer, None
        peer.waiting.pop(self, None)
        self._state.connections.discard(self)
        protocol = Protocol(self._config, self._state, self._app_state, self._loop)
        secure.set_protocol(protocol)
        protocol.begin(secure, raw, peer)
        for data in self._early:
            protocol.data_received(data)

    def data_received(self, data: bytes) -> None:
        """Keep the data that arrives with the end of the handshake, for `Protocol`."""
        self._early.append(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()

    def evict(self) -> None:
        """Close the connection to make room for another one."""
        self._leave()
        self.shutdown()

    def _leave(self) -> None:
        self._state.connections.discard(self)
        if self._peer is not None:
            self._peer.waiting.pop(self, None)
            self._limiter.leave(self._peer)
            self._peer = None

    def shutdown(self) -> None:
        """Close the connection, as the server does with idle connections when it ends."""
        if self._raw is not None:
            self._raw.abort()
