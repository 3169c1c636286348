"""The end of a client's side of a connection. The client may still read responses."""

import asyncio
from typing import Literal

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle


class ClientEnd(asyncio.Event):
    """The event of a request that its application waits for, once the client sends nothing more.

    Such a client looks like one that has left. A request at work is answered. If the application
    waits for the client's disconnect, it gets the disconnect: it would serve a client that may
    have left.
    """

    def __init__(self, cycle: RequestResponseCycle) -> None:
        super().__init__()
        self._cycle = cycle
        # The event is set while a part of the body, or its end, waits for the application.
        self._is_read = not cycle.message_event.is_set()

    async def wait(self) -> Literal[True]:
        """Let the application read the rest of the body, and afterwards the disconnect."""
        if self._is_read:
            self._cycle.disconnected = True
            self._cycle.transport.close()
        return True

    def clear(self) -> None:
        """Note that the application has got the rest of the body."""
        self._is_read = True


def end(cycle: RequestResponseCycle) -> None:
    """Note that the client of a request sends nothing more. The body is complete."""
    former, cycle.message_event = cycle.message_event, ClientEnd(cycle)
    former.set()
