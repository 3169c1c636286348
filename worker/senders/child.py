"""A sender process as the worker sees it: its start, its requests in flight, and its end."""

import asyncio
import contextlib
import itertools
import socket
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from time import monotonic

from worker.http.answer import ExchangeResult
from worker.http.endpoint import Endpoint
from worker.http.tls_contexts import TlsChoice
from worker.senders.channel import Message, MessageChannel
from worker.senders.messages import (
    ANSWER,
    BODY,
    CANCEL,
    CONFIGURE,
    FORGET,
    READY,
    SEND,
    installed_program,
    tls_fields,
)
from worker.signing.signatures import SigningRequest

# How many bodies, and bytes of them, a sender process keeps.
MOST_BODIES, MOST_BYTES = 256, 8 * 1024 * 1024
PROGRAM = "worker.senders.process"
ENDED = "send: the sender process ended"
OWN_PROGRAM = installed_program()


class NotSent(Exception):
    """The sender process has not sent the request.

    `address` has to be approved first. If it is None, the request was too late. `seconds` is how
    long the process was resolving and connecting.
    """

    def __init__(self, address: str | None, seconds: float) -> None:
        self.address, self.seconds = address, seconds


class SenderChild:
    """A sender process. `on_end` is called once, when it has ended without `close`."""

    def __init__(self, on_end: Callable[["SenderChild"], None]) -> None:
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count()
        self._pending: dict[int, tuple[asyncio.Future[ExchangeResult], float]] = {}
        self._bodies: OrderedDict[int, tuple[int, bytes]] = OrderedDict()
        self._bytes = 0
        self._last: tuple[int, bytes | None] = 0, None
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: MessageChannel | None = None
        self._is_ready: asyncio.Future[bool] = self._loop.create_future()
        self.connections = 0
        """How many connections to receivers it had open at its last answer."""

    @property
    def in_flight(self) -> int:
        return len(self._pending)

    @property
    def pid(self) -> int | None:
        """Return the id of the process. Return None if it is not running."""
        return None if self._process is None else self._process.pid

    async def start(self, networks: list[str], ports: str, most_idle: int) -> None:
        """Start the process, and wait until it is ready.

        Raises OSError if it cannot be started, and EOFError if it ends before it is ready.
        """
        # A process of another version could not read the messages, and would fail each request.
        if installed_program() != OWN_PROGRAM:
            raise OSError("another version of tocsin was installed: restart the service")
        ours, theirs = socket.socketpair()
        with theirs:
            uses_uvloop = type(self._loop).__module__.startswith("uvloop")
            name = "uvloop" if uses_uvloop else "asyncio"
            # Without -P, modules of the working directory would come first.
            command = [sys.executable, "-P", "-m", PROGRAM, str(theirs.fileno()), name]
            try:
                # This call takes a millisecond or two. It does not wait until the process ends.
                self._process = subprocess.Popen(  # noqa: ASYNC220, S603 - our own module
                    command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
                )
            except OSError:
                ours.close()
                raise
        ours.setblocking(False)
        self._channel = await MessageChannel.open(ours, self._on_message, self._on_lost)
        self.configure(networks, ports, most_idle)
        if not await self._is_ready:
            raise EOFError("it ended at its start")

    def configure(self, networks: list[str], ports: str, most_idle: int) -> None:
        """Apply these rules from the next request on, and keep no connection that is open now."""
        self._send((CONFIGURE, networks, ports, most_idle))

    async def request(
        self,
        endpoint: Endpoint,
        head: str,
        body: bytes,
        signing: SigningRequest,
        deadline: float,
        verify_tls: TlsChoice,
        approved: Sequence[str],
        spent: float,
    ) -> ExchangeResult:
        """Send a request to one of the approved addresses.

        `deadline` and the part of it that is `spent` are in seconds. Raises NotSent. If the process
        ends meanwhile, the error is in the result.
        """
        number = next(self._numbers)
        now = monotonic()
        future: asyncio.Future[ExchangeResult] = self._loop.create_future()
        self._pending[number] = future, now + deadline - spent
        # The fields of a SendRequest.
        self._send((
            SEND, number, endpoint.scheme, endpoint.host, endpoint.port, head, self._body(body),
            signing, deadline, tls_fields(verify_tls), now, tuple(approved), spent,
        ))  # fmt: skip
        try:
            return await future
        except asyncio.CancelledError:
            self._send((CANCEL, number))
            raise
        finally:
            self._pending.pop(number, None)

    def _body(self, body: bytes) -> int:
        """Return the number by which the process knows this body. All deliveries of an event have
        the same one, so it is sent once.
        """
        if body is self._last[1]:
            return self._last[0]
        self._last = self._number_of(body), body
        return self._last[0]

    def _number_of(self, body: bytes) -> int:
        key = id(body)
        known = self._bodies.get(key)
        if known is not None:
            self._bodies.move_to_end(key)
            return known[0]
        number = next(self._numbers)
        self._send((BODY, number, body))
        # The reference keeps the id from being used again.
        self._bodies[key] = number, body
        self._bytes += len(body)
        while len(self._bodies) > MOST_BODIES or (
            self._bytes > MOST_BYTES and len(self._bodies) > 1
        ):
            _, (old, dropped) = self._bodies.popitem(last=False)
            self._bytes -= len(dropped)
            self._send((FORGET, old))
        return number

    def _send(self, message: Message) -> None:
        if self._channel is not None:
            self._channel.send(message)

    def _on_message(self, message: Message) -> None:
        if message[0] == READY:
            self._is_ready.set_result(True)
            return
        waiting = self._pending.get(message[1])
        if waiting is None or waiting[0].done():
            return
        if message[0] == ANSWER:
            waiting[0].set_result(self._result(*message[2:]))
        else:
            waiting[0].set_exception(NotSent(message[2], message[3]))

    def _result(
        self,
        status: int | None,
        head: bytes,
        body: bytes,
        truncated: bool,
        address: str | None,
        timings: dict[str, int],
        error: str | None,
        signatures: str,
        connections: int,
    ) -> ExchangeResult:
        self.connections = connections
        result = ExchangeResult()
        result.status, result.head, result.body = status, head, body
        result.truncated, result.address, result.timings = truncated, address, timings
        result.error, result.signatures = error, signatures
        return result

    def is_stuck(self, grace: float) -> bool:
        """Return whether a request has had no answer `grace` seconds after its deadline."""
        oldest = next(iter(self._pending.values()), None)
        return oldest is not None and oldest[1] + grace < monotonic()

    def _on_lost(self) -> None:
        self.kill()
        if not self._is_ready.done():
            self._is_ready.set_result(False)
        self._fail_pending()
        self._on_end(self)

    def _fail_pending(self) -> None:
        for future, _ in self._pending.values():
            if not future.done():
                future.set_result(ExchangeResult.failed(ENDED))

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        channel = self._channel
        self._channel = None
        if channel is not None:
            channel.close()

    async def close(self, seconds: float) -> None:
        """End the process, which drops what is in flight. Wait up to `seconds` for it."""
        self._on_end = _ignore
        process, channel = self._process, self._channel
        self._channel = None
        if channel is not None:
            channel.close()
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(process.wait, seconds)
        self.kill()


def _ignore(child: SenderChild) -> None:
    pass
