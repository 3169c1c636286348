"""A connection to a receiver.

It carries one exchange at a time, and limits the size of the answer.
"""

import asyncio
import select
from time import perf_counter
from typing import Protocol, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from worker.http.answer import ExchangeResult, error_text
from worker.http.tls_contexts import TlsChoice

MAX_HEAD = 16384
MAX_INTERIM = 8
EARLY = 0.002  # seconds that a timer of the event loop may fire too early
# If a timer fires so many seconds late, the process stood still, as when its machine sleeps.
STANDSTILL = 0.5
ONE_PASS = 0.01  # seconds until the event loop has read what has come
ONE_WRITE = 262144  # up to this size, copying head and body together is cheaper than two writes
# If the receiver closes a connection within this many seconds of its first answer, it keeps none.
EARLY_CLOSE = 1.0
SAFE = (b"GET ", b"HEAD ")  # methods that change nothing (RFC 9110, section 9.2.1)
NO_CONTENT = 204

Origin = tuple[str, str, int, TlsChoice]
"""Scheme, host, port, and the choices for TLS."""


class ConnectionOwner(Protocol):
    """The pool that a connection belongs to."""

    def add(self, connection: "HttpConnection") -> None: ...

    def release(self, connection: "HttpConnection") -> None: ...

    def on_closed(self, connection: "HttpConnection") -> None: ...


class _StopParsing(Exception):
    """Raised in a callback of the parser, to stop it."""


class HttpConnection(asyncio.Protocol):
    """One connection. `owner` gets it back if an exchange has left it usable.

    `exchanges` is the number of exchanges that it has carried, and `since` is when the last one
    ended. `closed_early` says that the receiver closed it soon after the first exchange, without
    announcing that. `closed_after` is how many seconds it was idle before the receiver closed
    it, if it was later than that. `transport` is set when the connection is made.
    """

    __slots__ = (
        "_again", "_alarm", "_answer", "_body", "_done", "_first", "_interim", "_loop",
        "_overslept", "_parser", "_paused", "_raw", "_reusable", "_room", "_seconds", "_started",
        "_waiter", "_when", "_why", "address", "closed", "closed_after", "closed_early",
        "exchanges", "origin", "owner", "since", "transport",
    )  # fmt: skip

    def __init__(self, owner: ConnectionOwner, origin: Origin, address: str) -> None:
        self.owner, self.origin, self.address = owner, origin, address
        self.transport: asyncio.Transport
        self.closed = self.closed_early = False
        self.closed_after: float | None = None
        self.exchanges = 0
        self.since = 0.0
        self._answer: ExchangeResult | None = None
        self._waiter: asyncio.Future[bool] | None = None
        self._loop = asyncio.get_running_loop()
        self._alarm: asyncio.TimerHandle | None = None
        self._why: str | None = None
        self._paused = False
        self._raw = b""
        self._body: list[bytes] = []

    # The exchange.

    def is_usable(self, fresh_seconds: float) -> bool:
        """Return whether an idle connection may carry another request.

        It may, unless its receiver has closed it or sent something: the receiver would never read
        the request. If the connection was used less than `fresh_seconds` ago, the event loop's
        knowledge is enough.
        """
        if self.closed or self.transport.is_closing():
            return False
        # The event loop has read everything that came before its last pass. Asking the system too
        # would be one more call for every delivery to a busy endpoint.
        if perf_counter() - self.since < fresh_seconds:
            return True
        if self._has_input():
            self._note_close()
            return False
        return True

    def _has_input(self) -> bool:
        """Return whether bytes, or the end, have come that the event loop has not read."""
        readable = select.poll()
        readable.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(readable.poll(0))

    def exchange(
        self,
        answer: ExchangeResult,
        head: bytes,
        body: bytes,
        keep: int,
        when: float,
        seconds: float,
    ) -> "asyncio.Future[bool]":
        """Send a request, and return a future.

        The future gets True when `answer` is complete or carries an error. It gets False if a used
        connection was closed before any byte of an answer came, and the method is safe. Only then
        may the request be sent again at once (RFC 9110, section 9.2.2), because nobody can know
        that the receiver has not read it.

        At most `keep` bytes of the body are read. The exchange ends by `when` on the loop's clock.
        `seconds` is for the error message.
        """
        waiter = self._loop.create_future()
        answer.address = self.address
        self._answer, self._waiter = answer, waiter
        self._room = keep
        self._interim = 0
        self._first = 0.0
        self._done = self._reusable = self._overslept = False
        self._again = self.exchanges > 0 and head.startswith(SAFE)
        self._when, self._seconds = when, seconds
        if self._alarm is None or self._alarm.when() > when:
            self._set_alarm()
        self._started = perf_counter()
        if self.closed:
            self._on_closed(self._why)
        elif len(body) < ONE_WRITE:
            self.transport.write(head + body)
        else:
            self.transport.write(head)
            self.transport.write(body)
        return waiter

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._loop.call_at(self._when, self._on_alarm)

    def _on_alarm(self) -> None:
        # One timer serves many exchanges. Most end long before it, and a timer for each would cost
        # more than everything else here.
        self._alarm = None
        if self._answer is None:
            return
        late = self._loop.time() - self._when
        if late < -EARLY:
            self._set_alarm()
        elif late > STANDSTILL and not self._overslept and self._has_input():
            # uvloop calls timers before it reads an answer that has come meanwhile.
            self._overslept = True
            self._alarm = self._loop.call_later(ONE_PASS, self._on_alarm)
        else:
            seconds = self._seconds
            self._fail(f"timeout: {self._stage()}: no whole answer within {seconds:g} s")

    def cancel(self, answer: ExchangeResult) -> None:
        """Close the connection if the exchange for `answer` is still going on."""
        if self._answer is answer:
            self._answer = self._waiter = None
            self.drop()

    def drop(self) -> None:
        """Close at once, and discard unsent bytes."""
        self.closed = True
        self.transport.abort()

    def close(self) -> None:
        """Close an idle connection."""
        self.closed = True
        self.transport.close()

    # The callbacks of asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Cast and not asserted: uvloop's transports do not inherit from asyncio's.
        self.transport = cast("asyncio.Transport", transport)
        self._parser = HttpResponseParser(self)
        # Without this, the parser takes no answer after an interim one that announces the end of
        # the connection, or has version 1.0.
        self._parser.set_dangerous_leniencies(lenient_keep_alive=True)
        self.owner.add(self)

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None:
            self._why = "the receiver sent data without a request"
            self.drop()
            return
        if not self._first:
            self._first = perf_counter()
        if answer.status is None:
            self._raw += data
        self._parse(data, answer)
        if self._why:
            self._fail("protocol: " + self._why)
        elif self._done or answer.truncated:
            self._finish(answer)
        elif answer.status is not None and self._room <= 0:  # more bytes would be discarded
            answer.truncated = True
            self._finish(answer)

    def eof_received(self) -> None:
        self._note_close()
        self._on_closed(None)
        # A transport with unsent bytes would wait for a receiver that may never read them.
        self.drop()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed:
            self._note_close()
        self.closed = True
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._on_closed(None if exc is None else error_text(exc))
        self.owner.on_closed(self)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False

    # The callbacks of the parser.

    def on_message_begin(self) -> None:
        if self._done:
            self._reusable = False
            raise _StopParsing

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != 101:
            self._interim += 1
            return
        raw = self._raw.lstrip(b"\r\n")
        end = raw.find(b"\r\n\r\n")
        if end > MAX_HEAD:
            raise _StopParsing  # `_parse` sets the error
        answer = self._answer
        assert answer is not None
        answer.head = raw[:end].partition(b"\r\n")[2]
        answer.status = status

    def on_body(self, data: bytes) -> None:
        if len(data) > self._room:
            self._body.append(data[: self._room])
            self._answer.truncated = True  # type: ignore[union-attr]  # the parser only runs for an answer
            raise _StopParsing
        self._body.append(data)
        self._room -= len(data)

    def on_message_complete(self) -> None:
        status = self._answer.status  # type: ignore[union-attr]  # the same
        if status is not None:
            self._done = True
            self._reusable = status != 101 and self._parser.should_keep_alive()
            if status == NO_CONTENT and self._answer.announces_body():  # type: ignore[union-attr]  # the same
                # The body may follow nevertheless, and would be taken for the next answer.
                self._reusable = False
        elif self._interim > MAX_INTERIM:
            self._why = f"more than {MAX_INTERIM} interim answers"
            raise _StopParsing
        else:
            self._raw = self._raw.lstrip(b"\r\n").partition(b"\r\n\r\n")[2]

    def _parse(self, data: bytes, answer: ExchangeResult) -> None:
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._reusable = False
            if not (self._done or self._why or answer.truncated):
                self._why = f"not a valid HTTP answer ({str(error) or type(error).__name__})"
        if answer.status is None and len(self._raw) > MAX_HEAD:
            self._why = f"headers too large (more than {MAX_HEAD} bytes)"

    # The end of the exchange.

    def _note_close(self) -> None:
        """Record that the receiver has closed the connection."""
        idle = perf_counter() - self.since
        if idle < EARLY_CLOSE:
            self.closed_early = self.exchanges == 1
            return
        if self._answer is not None:  # the request probably came just too late
            idle = self._started - self.since
        if self.exchanges and idle >= EARLY_CLOSE and not (self._answer and self._first):
            self.closed_after = idle

    def _finish(self, answer: ExchangeResult) -> None:
        waiter = self._waiter
        assert waiter is not None
        self._answer = self._waiter = None
        self.since = perf_counter()
        self._measure(answer)
        answer.body = b"".join(self._body)
        self._raw, self._body = b"", []  # an idle connection holds no data
        abandoned = waiter.done()
        if self._reusable and not abandoned and not self.transport.get_write_buffer_size():
            self.exchanges += 1
            self.owner.release(self)
        else:
            self.drop()
        if not abandoned:
            waiter.set_result(True)

    def _fail(self, error: str) -> None:
        answer, waiter = self._answer, self._waiter
        assert answer is not None
        assert waiter is not None
        self._answer = self._waiter = None
        self.since = perf_counter()
        self._measure(answer)
        answer.error = error
        answer.body = b"".join(self._body)
        self.drop()
        if not waiter.done():
            waiter.set_result(True)

    def _on_closed(self, why: str | None) -> None:
        answer, waiter = self._answer, self._waiter
        if answer is None or waiter is None:
            return
        if self._again and not self._first:
            self._answer = self._waiter = None
            if not waiter.done():
                waiter.set_result(False)
        elif answer.status is None:
            self._fail(f"{self._stage()}: {why or 'connection closed before an answer'}")
        elif (why is None or self._paused) and not answer.has_length():
            # A receiver that answers early, and reads no more of the request, ends the connection
            # with a reset.
            self._finish(answer)
        else:
            self._fail(f"read: {why or 'connection closed before the end of the body'}")

    def _stage(self) -> str:
        if self._first:
            return "read"
        return "send" if self._paused else "wait"

    def _measure(self, answer: ExchangeResult) -> None:
        if self._first:
            answer.timings["wait"] = int((self._first - self._started) * 1e6)
            answer.timings["read"] = int((self.since - self._first) * 1e6)
