"""The access tokens of hooks: each is requested once and used until shortly before its end."""

import asyncio
from dataclasses import dataclass, field

from store.clock import SECOND, Clock
from worker.endpoint_access.token_request import (
    EndpointToken,
    TokenCredentials,
    TokenFailed,
    read_token,
    token_request,
)
from worker.http.client import GuardedClient, RequestFailed
from worker.http.guard import Guard
from worker.http.transport import HttpSender

MOST_TOKENS = 1024
REQUEST_SECONDS = 10.0
# A token is renewed before its end: when this share of its lifetime is left, or this many seconds
# if they are fewer.
RENEWED_SHARE, RENEWED_SECONDS = 0.1, 60.0


@dataclass(frozen=True, slots=True)
class _Stored:
    """A token with its times in microseconds."""

    value: str = field(repr=False)
    renew_at: int
    ends_at: int


class TokenCache:
    """A cache of tokens. For equal credentials, at most one request at a time is under way."""

    def __init__(self, guard: Guard, sender: HttpSender, clock: Clock) -> None:
        self._clock = clock
        self._client = GuardedClient(guard, sender)
        self._stored: dict[TokenCredentials, _Stored] = {}
        self._pending: dict[TokenCredentials, asyncio.Future[str]] = {}

    async def get(self, credentials: TokenCredentials) -> str:
        """Return a token. Raises TokenFailed if none is issued and no stored one is valid."""
        stored, now = self._stored.get(credentials), self._clock.now()
        if stored is None or stored.ends_at <= now:
            return await self._request_once(credentials)
        if now < stored.renew_at or credentials in self._pending:
            return stored.value
        try:
            return await self._request_once(credentials)
        except TokenFailed:
            return stored.value

    async def replace(self, credentials: TokenCredentials, rejected: str) -> str:
        """Return another token than this one, which the receiver has rejected.

        Raises TokenFailed if none is issued.
        """
        stored = self._stored.get(credentials)
        if stored is not None and stored.value != rejected:
            return stored.value
        self._stored.pop(credentials, None)
        return await self._request_once(credentials)

    async def _request_once(self, credentials: TokenCredentials) -> str:
        pending = self._pending.get(credentials)
        if pending is not None:
            return await asyncio.shield(pending)
        pending = self._pending[credentials] = asyncio.get_running_loop().create_future()
        error = TokenFailed("the request for a token was interrupted")
        try:
            token = await self._request(credentials)
            self._store(credentials, token)
            pending.set_result(token.value)
        except TokenFailed as failed:
            error = failed
            raise
        finally:
            del self._pending[credentials]
            if not pending.done():
                pending.set_exception(error)
                pending.exception()  # marks it as retrieved, in case no other caller waits
        return token.value

    async def _request(self, credentials: TokenCredentials) -> EndpointToken:
        try:
            endpoint = self._client.endpoint(credentials.token_url)
            headers, body = token_request(credentials, self._clock.now())
            answer = await self._client.request(
                "POST", endpoint, headers=headers, content=body, deadline=REQUEST_SECONDS
            )
        except RequestFailed as error:
            raise TokenFailed(str(error)) from None
        return read_token(answer)

    def _store(self, credentials: TokenCredentials, token: EndpointToken) -> None:
        now = self._clock.now()
        ahead = min(token.lifetime * RENEWED_SHARE, RENEWED_SECONDS)
        self._stored.pop(credentials, None)
        self._stored[credentials] = _Stored(
            token.value,
            now + round((token.lifetime - ahead) * SECOND),
            now + round(token.lifetime * SECOND),
        )
        if len(self._stored) > MOST_TOKENS:
            del self._stored[next(iter(self._stored))]
