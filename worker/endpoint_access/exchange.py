"""One attempt with access: the token, the request, and once more if the token is rejected."""

import asyncio
from collections.abc import Awaitable, Callable

from worker.endpoint_access.access import EndpointAccess
from worker.endpoint_access.token_cache import TokenCache
from worker.endpoint_access.token_request import TokenCredentials, TokenFailed
from worker.http.answer import ExchangeResult, Withheld
from worker.http.endpoint import Endpoint
from worker.http.tls_contexts import TlsChoice
from worker.http.transport import HttpSender

UNAUTHORIZED = 401
MICRO = 1_000_000

Send = Callable[[str, float], Awaitable[ExchangeResult]]
"""Sends the request with this head, within this many seconds, and returns the answer."""


async def post(
    sender: HttpSender,
    tokens: TokenCache,
    access: EndpointAccess | None,
    endpoint: Endpoint,
    head: str,
    body: bytes,
    deadline: float,
    verify_tls: TlsChoice,
) -> ExchangeResult:
    """Send a request, with access to its endpoint if that is needed. See `exchange`."""

    def send(sent: str, seconds: float) -> Awaitable[ExchangeResult]:
        encoded = sent.encode("latin-1")
        return sender.post(endpoint, encoded, body, deadline=seconds, verify_tls=verify_tls)

    if access is None:
        return await send(head, deadline)
    return await exchange(tokens, access, head, deadline, send)


async def exchange(
    tokens: TokenCache, access: EndpointAccess, head: str, deadline: float, send: Send
) -> ExchangeResult:
    """Send a request with access to its endpoint. `deadline` in seconds covers everything.

    If no token is issued, the error's stage is `token`. Raises Withheld as `send` does, if nothing
    was sent yet.
    """
    if access.oauth2 is None:
        return await send(access.sent_head(head), deadline)
    loop = asyncio.get_running_loop()
    started = loop.time()
    try:
        token = await _within(deadline, tokens.get(access.oauth2))
    except TokenFailed as error:
        # The token URL may send the client's secret back in its answer.
        return _failed(access.mask(str(error)), loop.time() - started)
    access.note_token(token)
    took = loop.time() - started
    answer = await send(access.sent_head(head, token), deadline - took)
    if answer.status == UNAUTHORIZED:
        left = deadline - (loop.time() - started)
        answer = await _again(tokens, access, access.oauth2, token, head, left, send) or answer
    answer.timings["token"] = int(took * MICRO)
    answer.timings["total"] = int((loop.time() - started) * MICRO)
    return answer


async def _again(
    tokens: TokenCache,
    access: EndpointAccess,
    credentials: TokenCredentials,
    rejected: str,
    head: str,
    left: float,
    send: Send,
) -> ExchangeResult | None:
    """Send the request with another token. Return None if that is not possible."""
    ends = asyncio.get_running_loop().time() + left
    try:
        token = await _within(left, tokens.replace(credentials, rejected))
        access.note_token(token)
        rest = ends - asyncio.get_running_loop().time()
        return await send(access.sent_head(head, token), rest) if rest > 0 else None
    except (TokenFailed, Withheld):
        return None


async def _within(seconds: float, token: Awaitable[str]) -> str:
    try:
        async with asyncio.timeout(seconds):
            return await token
    except TimeoutError:
        raise TokenFailed(f"timeout: not done within {max(seconds, 0):g} s") from None


def _failed(reason: str, took: float) -> ExchangeResult:
    answer = ExchangeResult.failed(f"token: {reason}")
    answer.timings["token"] = answer.timings["total"] = int(took * MICRO)
    return answer
