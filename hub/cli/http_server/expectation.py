"""Requests that wait for `100 Continue` before they send their body (RFC 9110, section 10.1.1)."""

from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle


def with_early_end(app: ASGIApp, cycle: RequestResponseCycle, end: Callable[[], None]) -> ASGIApp:
    """Return an app that calls `end` before it responds to a request whose body it did not ask for.

    The client does not have to send that body any more. If the connection were kept, the client's
    next request could be taken for the body.
    """

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_and_end(message: Message) -> None:
            if cycle.waiting_for_100_continue and cycle.more_body:
                end()
            await send(message)

        await app(scope, receive, send_and_end)

    return run
