"""The protocol of a connection: the limits on the received bytes and on the waiting time."""

import asyncio
import math
from typing import TYPE_CHECKING, Any, cast

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from hub.cli.http_server import client_end, refusal, request_head
from hub.cli.http_server.connection_limiter import Peer, address_of
from hub.cli.http_server.connection_phase import ENDING, HEAD, IDLE, NEW, REQUEST, REST
from hub.cli.http_server.early_end import with_early_end
from hub.cli.http_server.response_writer import ResponseWriter
from hub.cli.http_server.server_state import State
from hub.cli.http_server.unsent import Unsent
from hub.cli.http_server.upgrade import NoMoreRequests, body_parser, has_body
from hub.http.errors import HubError

if TYPE_CHECKING:
    from starlette.types import ASGIApp
    from uvicorn._types import ASGI3Application

# The maximum number of pipelined requests. Later requests are not read.
MOST_WAITING = 32
# After an error response, the seconds until the connection is closed and the bytes that the client
# may still send. If the server closed it at once, the client could not read the response.
LINGER = 2.0
LINGER_BYTES = 1024 * 1024
# Bytes of framing that each chunk of a body may have, beside twice its content.
CHUNK_FRAMING = 16


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol with a limit on all bytes except bodies, and deadlines for the client.

    `due` is the current deadline on the event loop's clock. At that time the server calls `expire`.

    Bytes are counted before the parser sees them. The parser keeps an incomplete header, and copies
    it for each piece that arrives, so its memory and time would have no limit otherwise.
    """

    # `__slots__` keep lookups fast: with more attributes in the instance's dict, the interpreter
    # looks up uvicorn's attributes more slowly.
    __slots__ = (
        "_at_work",
        "_deaf",
        "_has_ended",
        "_is_last",
        "_limiter",
        "_peer",
        "_phase",
        "_refusal",
        "_room",
        "_state",
        "_to_discard",
        "_unsent",
        "_writer",
        "due",
    )

    def __init__(
        self,
        config: Config,
        server_state: State,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.due = math.inf
        self.url = b""
        self._state = server_state
        self._limiter = server_state.limiter
        self._peer: Peer | None = None
        self._phase = NEW
        self._room = self._limiter.limits.header_bytes
        """Bytes that may still arrive before the parser has to recognize them."""
        self._deaf = False
        """Whether received data is ignored."""
        self._has_ended = False
        """Whether the client sends nothing more."""
        self._is_last = False
        """Whether the newest request asks for the end of the connection after its response."""
        self._refusal: HubError | None = None
        self._to_discard = LINGER_BYTES
        self._at_work: RequestResponseCycle | None = None
        self._unsent = Unsent()

    # Beginning and end.

    def connection_made(  # type: ignore[override]  # the transport is writable
        self, transport: asyncio.Transport
    ) -> None:
        peer = self._limiter.admit(address_of(transport))
        if peer is None:
            transport.write(self._answer(refusal.FULL))
            transport.close()
        else:
            self.begin(transport, transport, peer)

    def begin(self, transport: asyncio.Transport, raw: asyncio.Transport, peer: Peer) -> None:
        """Serve an admitted connection.

        `raw` is the TCP transport. `transport` is the TLS transport over it, or `raw` itself.
        """
        super().connection_made(transport)
        self._writer = ResponseWriter(transport, self.loop, self._close)
        self._unsent = Unsent(*{transport, raw})
        self._peer = peer
        self._wait(NEW, self._limiter.limits.header_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        self.due = math.inf
        self._leave()
        if self.transport is None:
            return
        super().connection_lost(exc)
        if self._at_work is not None:
            # If requests are pipelined, uvicorn has disconnected the newest one, not the current
            # one.
            self._at_work.disconnected = True
            self._at_work.message_event.set()

    def evict(self) -> None:
        """Close the connection to make room for another one."""
        self._leave()
        self.transport.abort()

    def _leave(self) -> None:
        if self._peer is not None:
            self._peer.waiting.pop(self, None)
            self._limiter.leave(self._peer)
            self._peer = None

    def last_call(self) -> None:
        """Close after the current response. An idle connection may send one more request."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False

    # Received data.

    def data_received(self, data: bytes) -> None:
        phase = self._phase
        if phase < HEAD:
            self._phase = HEAD
            if phase == IDLE:
                limits = self._limiter.limits
                self._room = limits.header_bytes
                self.due = self.loop.time() + limits.header_timeout
        room = self._room - len(data)
        if room >= 0:
            self._room = room
            self.feed(data)
        else:
            self._feed_pieces(memoryview(data))

    def _feed_pieces(self, rest: memoryview) -> None:
        while rest and not self._deaf:
            if self._room <= 0:
                most, in_body = self._limiter.limits.header_bytes, self._is_within_body()
                self._refuse(refusal.beyond(most, self.url, in_body=in_body))
                break
            piece, rest = rest[: self._room], rest[self._room :]
            self._room -= len(piece)
            self.feed(piece)
        if self._phase == ENDING:
            self._to_discard -= len(rest)
            if self._to_discard < 0:
                self.transport.close()

    def eof_received(self) -> bool | None:  # type: ignore[override]  # uvicorn always closes
        """Keep the connection for the responses to complete requests. Return whether it is kept.

        An incomplete request is dropped. TLS cannot be closed in one direction.
        """
        current = self._at_work
        if self._phase != REQUEST or current is None or current.more_body:
            return None
        if not self.transport.can_write_eof():
            return None
        self._has_ended = True
        self._drop_incomplete()
        for cycle in (current, *(waiting for waiting, _ in self.pipeline)):
            client_end.end(cycle)
        return True

    def _drop_incomplete(self) -> None:
        if self.pipeline and self.pipeline[0][0].more_body:
            self.pipeline.popleft()
        if self._refusal is None:
            newest = self.pipeline[0][0] if self.pipeline else self._at_work
            assert newest is not None, "the caller has checked it"
            newest.keep_alive = False
        self._stop_parsing()

    def feed(self, data: bytes | memoryview) -> None:
        """Parse data from the client. Reject data that is not HTTP."""
        end: int | None = None
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            end = upgrade.args[0]
        except httptools.HttpParserError as error:
            cause = error.__context__
            if isinstance(cause, NoMoreRequests):
                self._end_with_newest()
            else:
                self._refuse(cause if isinstance(cause, HubError) else refusal.no_http(error))
        if end is not None:
            # In the handler, the context of the next error would be the upgrade, not its cause.
            self._ignore_upgrade(data[end:])

    def _ignore_upgrade(self, rest: bytes | memoryview) -> None:
        """Read the body of a request that offers another protocol.

        Further data is ignored, because it may belong to that protocol.
        """
        if self._is_body_left():
            self.parser = body_parser(self.scope["headers"], self)  # type: ignore[arg-type]  # a list
            self.feed(rest)
        else:
            self._end_with_newest()

    def _is_body_left(self) -> bool:
        """Return whether the parser has ended the newest request before its body."""
        return self.parser.should_upgrade() and has_body(self.scope["headers"])  # type: ignore[arg-type]  # a list

    def _end_with_newest(self) -> None:
        """Ignore further data, and close after the response to the newest request."""
        self.cycle.keep_alive = False
        self._stop_parsing()

    def _stop_parsing(self) -> None:
        self._deaf = True
        # A negative `_room` keeps `data_received` from feeding the parser.
        self._room = -1

    def _is_within_body(self) -> bool:
        cycle = self.cycle
        return cycle is not None and cycle.scope is self.scope and cycle.more_body

    # Calls of the parser.

    def on_headers_complete(self) -> None:
        limits = self._limiter.limits
        request_head.check(self.headers, limits.headers, self.parser.get_http_version)
        if len(self.pipeline) >= MOST_WAITING:
            raise NoMoreRequests
        super().on_headers_complete()
        if self._state.ending or self.parser.should_upgrade():
            self.cycle.keep_alive = False
        self._is_last = not self.cycle.keep_alive
        # Trailers are dropped: they must not become headers of the request.
        self.headers = []
        self._room = limits.header_bytes
        if self._phase != REQUEST:
            self._phase = REQUEST
            self._at_work = self.cycle
            # The transport does not report again that earlier responses wait for the client.
            self.due = self.loop.time() if self.flow.write_paused else math.inf
            if self._peer is not None:
                self._peer.waiting.pop(self, None)

    def on_body(self, body: bytes) -> None:
        self._room += 2 * len(body)
        super().on_body(body)

    def on_chunk_header(self) -> None:
        """Add room for the framing of the next chunk, or for the trailers."""
        self._room = min(self._room + CHUNK_FRAMING, self._limiter.limits.header_bytes)

    def on_message_complete(self) -> None:
        if self._is_body_left():
            return
        limits = self._limiter.limits
        # The room that the body has made is not for the next request's head.
        self._room = min(self._room, limits.header_bytes)
        if self._phase == REST and self._is_last:
            self._end()
            raise NoMoreRequests
        if self._phase == REST:
            self._wait(IDLE, limits.keep_alive_timeout)
        super().on_message_complete()

    # Responses.

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: "ASGI3Application") -> None:
        # A response of uvicorn calls only `write`, `close` and `is_closing` of its transport.
        cycle.transport = cast("asyncio.Transport", self._writer)
        self._writer.is_head_next = True
        ending = with_early_end(cast("ASGIApp", app), cycle, self._end_after_newest)
        super()._start_asgi_task(cycle, cast("ASGI3Application", ending))

    def _end_after_newest(self) -> None:
        self.cycle.keep_alive = False
        self._is_last = True

    def on_response_complete(self) -> None:
        self._writer.flush()
        self.server_state.total_requests += 1
        limits = self._limiter.limits
        self._at_work = None
        if self.transport.is_closing():
            self._wait(ENDING, LINGER)
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._at_work, app = self.pipeline.pop()
            self._start_asgi_task(self._at_work, app)
        elif self._refusal is not None:
            self._say(self._refusal)
        elif self._is_within_body():
            # The end of the server waits for this connection.
            self._wait(REST, LINGER if self._state.ending else limits.body_timeout)
            if self._is_last and self.transport.can_write_eof():
                self.transport.write_eof()
        elif self.cycle.scope is not self.scope:
            self._wait(HEAD, limits.header_timeout)
        else:
            self._wait(IDLE, limits.keep_alive_timeout)

    def _close(self) -> None:
        """Close the connection, but read a body first whose request was answered early.

        If the server closed at once, the client could not send the rest, nor read the response.
        """
        current = self._at_work
        is_answered = current is not None and current.response_complete and current is self.cycle
        if not (is_answered and self._is_last and self._is_within_body()):
            self.transport.close()

    def _wait(self, phase: int, seconds: float) -> None:
        self._phase = phase
        self.due = self.loop.time() + seconds
        if self._peer is not None:
            self._peer.waiting[self] = None

    def _refuse(self, error: HubError) -> None:
        """Send an error response, after the responses to earlier requests, and close."""
        self._stop_parsing()
        self._limiter.refused(self.client, error)
        if self._phase == REST:
            self._end()
        elif self._at_work is None:
            self._say(error)
        elif not self._is_within_body():
            self._refusal = error
        elif self.pipeline:
            self.pipeline.popleft()
            self._refusal = error
        else:
            self._refuse_at_work(self._at_work, error)

    def _refuse_at_work(self, cycle: RequestResponseCycle, error: HubError) -> None:
        cycle.disconnected = True
        cycle.message_event.set()
        if cycle.response_started:
            self._end()
        else:
            self._say(error)

    def _say(self, error: HubError) -> None:
        self._writer.flush()
        self.transport.write(self._answer(error))
        if self.transport.can_write_eof() and not self._has_ended:
            self._wait(ENDING, LINGER)
            self.transport.write_eof()
            self.flow.resume_reading()
        else:
            self._end()

    def _answer(self, error: Exception) -> bytes:
        url = self._limiter.limits.documentation_url
        return refusal.response(error, url, self.server_state.default_headers)

    def _end(self) -> None:
        self._wait(ENDING, LINGER)
        self._writer.close()

    # Deadlines.

    def expire(self) -> None:
        """End the connection or reject the request, because the deadline has passed."""
        limits = self._limiter.limits
        if self._unsent.is_moving(self.loop.time(), limits.write_timeout):
            return
        if self._unsent.size or self._phase == ENDING:
            self._limiter.timed_out()
            self.transport.abort()
        elif self._phase == HEAD:
            self._refuse(refusal.slow_head(limits.header_timeout))
        elif self._phase == REQUEST:
            self.due = math.inf
        else:
            if self._phase != IDLE:
                self._limiter.timed_out()
            self._end()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._phase == REQUEST:
            self.due = self.loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._phase == REQUEST:
            self.due = math.inf
