"""Responses before the request's body has come, after which the connection cannot be used again."""

from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from hub.http.client_address import is_forwarded


def with_early_end(app: ASGIApp, cycle: RequestResponseCycle, end: Callable[[], None]) -> ASGIApp:
    """Return an app that calls `end` before such a response.

    A client that waits for `100 Continue` does not have to send the body any more (RFC 9110,
    section 10.1.1). If the connection were kept, its next request could be taken for the body.

    If the client of an unfinished body goes, HAProxy 2.6 sends another client's request on the same
    connection.
    """

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_and_end(message: Message) -> None:
            if cycle.more_body and (cycle.waiting_for_100_continue or _is_forwarded(scope)):
                end()
            await send(message)

        await app(scope, receive, send_and_end)

    return run


def _is_forwarded(scope: Scope) -> bool:
    return is_forwarded(name for name, _ in scope["headers"])
