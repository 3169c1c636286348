"""A connection on which HTTPS is to be served, until it is known that it can be."""

import asyncio
import math
from collections.abc import Awaitable, Coroutine, Generator
from typing import Any, Generic, TypeVar

from uvicorn.config import Config

from hub.cli.http_server.connection_limiter import Peer, address_of
from hub.cli.http_server.protocol import Protocol
from hub.cli.http_server.server_state import State

T = TypeVar("T")


class Begun(Generic[T]):
    """A coroutine that has been run as far as to its first future, to be awaited."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._future = coroutine.send(None)

    def __await__(self) -> Generator[Any, Any, T]:
        yield self._future
        return (yield from self._coroutine.__await__())


class Handshake(asyncio.Protocol):
    """Counts a connection from its first moment, and hands it to `Protocol` once it is secure.

    What the event loop has for TLS tells of a connection only after the handshake: those that never
    come so far would be nobody's.
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

    def connection_made(  # type: ignore[override]  # it is one that can be written to
        self, transport: asyncio.Transport
    ) -> None:
        self._peer = self._limiter.admit(address_of(transport))
        if self._peer is None:
            # To say why would take the handshake, which costs more than all else.
            transport.abort()
            return
        self._raw = transport
        self._peer.waiting[self] = None
        self._state.connections.add(self)  # type: ignore[arg-type]  # it ends with the others
        seconds = self._limiter.limits.header_timeout
        context = self._state.tls
        assert context is not None, "made for HTTPS alone"
        secured = self._loop.start_tls(
            transport, self, context, server_side=True, ssl_handshake_timeout=seconds
        )
        # Now, for what is read before it begins would be lost to it.
        begun = Begun(secured)
        self._task = self._loop.create_task(self._shake_hands(begun, transport))

    async def _shake_hands(
        self, secured: Awaitable[asyncio.Transport | None], raw: asyncio.Transport
    ) -> None:
        try:
            secure = await secured
        except OSError as error:
            # Otherwise it sent what is no TLS that is spoken here, or it left.
            if isinstance(error, ConnectionAbortedError):
                self._limiter.timed_out()
            self.evict()
        else:
            self._hand_over(secure, raw)

    def _hand_over(self, secure: asyncio.Transport | None, raw: asyncio.Transport) -> None:
        # Also who aborts it, here or there, may be answered as if the handshake were over.
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
        """Keep what comes with the end of the handshake, before anybody knows of that."""
        self._early.append(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()

    def evict(self) -> None:
        """Make room for another connection."""
        self._leave()
        self.shutdown()

    def _leave(self) -> None:
        self._state.connections.discard(self)
        if self._peer is not None:
            self._peer.waiting.pop(self, None)
            self._limiter.leave(self._peer)
            self._peer = None

    def shutdown(self) -> None:
        """End it, as the server ends what is not at work."""
        if self._raw is not None:
            self._raw.abort()
