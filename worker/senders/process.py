"""The sender process: it signs and sends the requests that the worker hands over.

The worker starts it as a module, with the number of the channel's file descriptor and the name of
the event loop. It ends when the channel ends.
"""

import asyncio
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable
from time import monotonic

from worker.http.answer import ExchangeResult, Withheld, internal_error
from worker.http.endpoint import Endpoint
from worker.http.guard import Guard
from worker.http.transport import Transport
from worker.senders.channel import Message, MessageChannel
from worker.senders.messages import (
    BODY,
    CANCEL,
    CONFIGURE,
    FORGET,
    LATE,
    NOT_SENT,
    READY,
    SEND,
    SendRequest,
    reply_of,
    tls_of,
)
from worker.signing.signatures import sign

log = logging.getLogger("tocsin.sender")


class SenderProcess:
    """The process's side of the channel."""

    def __init__(self) -> None:
        self._guard = Guard()
        self._transport: Transport | None = None
        self._bodies: dict[int, bytes] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._channel: MessageChannel | None = None
        self._ended = asyncio.Event()
        self._handlers: dict[int, Callable[..., None]] = {
            CONFIGURE: self._configure,
            BODY: self._bodies.__setitem__,
            FORGET: self._bodies.__delitem__,
            SEND: self._start,
            CANCEL: self._cancel,
        }

    async def run(self, end: socket.socket) -> None:
        """Answer on this end of the channel, until it has ended."""
        self._channel = await MessageChannel.open(end, self._on_message, self._ended.set)
        gc.freeze()
        self._channel.send((READY,))
        await self._ended.wait()
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        if self._transport is not None:
            await self._transport.close()
        self._guard.close()

    def _on_message(self, message: Message) -> None:
        self._handlers[message[0]](*message[1:])

    def _configure(self, networks: list[str], ports: str, most_idle: int) -> None:
        self._guard.allow(networks, ports)
        if self._transport is None:
            self._transport = Transport(
                self._guard, idle_per_origin=most_idle, idle_total=most_idle
            )
        # Other rules or addresses may apply to open connections by now.
        self._transport.pool.retire(most_idle)

    def _start(self, *fields: object) -> None:
        request = SendRequest(*fields)  # type: ignore[arg-type]  # the worker sends these fields
        task = asyncio.create_task(self._answer(request, self._bodies[request.body]))
        self._tasks[request.number] = task

    def _cancel(self, number: int) -> None:
        if (task := self._tasks.pop(number, None)) is not None:
            task.cancel()

    async def _answer(self, request: SendRequest, body: bytes) -> None:
        number = request.number
        refused: list[str] = []

        def may_reach(address: str) -> bool:
            if address not in request.approved:
                refused.append(address)
            return not refused

        began = monotonic()
        try:
            result = await self._send(request, body, may_reach)
        except Withheld:
            address = refused[0] if refused else None
            self._reply((NOT_SENT, number, address, monotonic() - began))
        except Exception as error:
            log.exception("request %d", number)
            failed = ExchangeResult.failed(internal_error(error))
            self._reply(reply_of(number, failed, 0))
        else:
            assert self._transport is not None
            self._reply(reply_of(number, result, len(self._transport.pool)))
        finally:
            self._tasks.pop(number, None)

    async def _send(
        self, request: SendRequest, body: bytes, may_reach: Callable[[str], bool]
    ) -> ExchangeResult:
        assert self._transport is not None, "the worker configures the process first"
        head, lines = sign(request.head, request.signing, body)
        result = await self._transport.post(
            Endpoint(request.scheme, request.host, request.port, ""),
            head.encode("latin-1"),
            body,
            deadline=request.deadline,
            verify_tls=tls_of(request.tls),
            may_send=lambda: monotonic() - request.handed_over < LATE,
            may_reach=may_reach,
            spent=request.spent,
        )
        result.signatures = lines
        return result

    def _reply(self, message: Message) -> None:
        assert self._channel is not None
        self._channel.send(message)


def _event_loop(name: str) -> asyncio.AbstractEventLoop:
    if name == "uvloop":
        import uvloop

        return uvloop.new_event_loop()
    return asyncio.new_event_loop()


def main() -> None:
    """Run a sender process."""
    # A service manager and a terminal signal all processes. The worker ends this one, after its
    # requests in flight.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    end = socket.socket(fileno=int(sys.argv[1]))
    gc.set_threshold(20_000, 20, 20)
    with asyncio.Runner(loop_factory=lambda: _event_loop(sys.argv[2])) as runner:
        runner.run(SenderProcess().run(end))


if __name__ == "__main__":
    main()
