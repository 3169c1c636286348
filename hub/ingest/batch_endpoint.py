"""The endpoint for batches, sent with a token or signed by a source."""

from collections.abc import Awaitable, Callable

from hub.auth import credentials
from hub.auth.credentials import Caller
from hub.auth.source_signatures import SourceSecret, SourceVerifier, find_signer, signature_of
from hub.http.body import apart
from hub.http.response import Response
from hub.ingest.push_access import is_slow
from hub.ingest.rejections import RECORDED_ERRORS, IngestAttempt, Rejections
from hub.rest.context import Services
from hub.rest.request import Request
from store import Row

NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl")

Keep = Callable[[Request, bytes, Caller | None, Row | None], Awaitable[Response]]
"""Stores the batch in a request's body. It is given the caller with a token, or else the source."""
Admit = Callable[[Caller], None]
"""Checks the rights of a token before the body is read. Raises Forbidden if it can send no line."""


class BatchEndpoint:
    """Authenticates the sender of a batch, and records rejections under the name `event`."""

    def __init__(
        self,
        services: Services,
        sources: SourceVerifier,
        rejections: Rejections,
        event: str,
        keep: Keep,
        admit: Admit = lambda caller: None,
    ) -> None:
        self._services = services
        self._sources = sources
        self._rejections = rejections
        self._event = event
        self._keep = keep
        self._admit = admit

    async def take(self, request: Request) -> Response:
        attempt = IngestAttempt(request.scope, event=self._event)
        token = credentials.token_of(request.headers)
        caller, signers, signature = None, [], b""
        if token is not None:
            caller = await self._services.store.read(credentials.authenticate, token)
            attempt.sender = caller.login
        else:
            signature = signature_of(request.headers)
            signers = await self._sources.candidates(request.query.get("source"))
        try:
            if caller is not None:
                self._admit(caller)
            return await self._read(request, attempt, caller, signers, signature)
        except RECORDED_ERRORS as error:
            await self._rejections.record(attempt, error)
            raise

    async def _read(
        self,
        request: Request,
        attempt: IngestAttempt,
        caller: Caller | None,
        signers: list[SourceSecret],
        signature: bytes,
    ) -> Response:
        limit, clock = self._services.settings.max_event_bytes, self._services.store.clock
        asked_at = clock.now()
        body = await self._services.body_reader.read(request, limit)
        attempt.size = len(body)
        try:
            source = None
            if caller is None:
                source = await apart(body, find_signer, signers, body, signature)
                attempt.sender = f"source {source['name']}"
            elif is_slow(asked_at, clock.now()):
                token = credentials.require(credentials.token_of(request.headers))
                caller = await self._services.store.read(credentials.authenticate, token)
            return await self._keep(request, body, caller, source)
        finally:
            self._services.body_reader.give_back(len(body))
