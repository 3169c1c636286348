"""Where batches come in: with a token, or signed by a source."""

from collections.abc import Awaitable, Callable

from hub import auth
from hub.answers import Answer
from hub.auth import Caller
from hub.call import Call
from hub.context import House
from hub.refused import NOTED, Door, Refusals
from hub.sources import Signer, Sources, signature_of, signer
from store import Row

NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl")

Keep = Callable[[bytes, Caller | None, Row | None], Awaitable[Answer]]
"""Takes the body and who sent it: somebody with a token, or a source."""


class BatchDoor:
    """Finds out who sends a batch, and records what is turned away, as `event`."""

    def __init__(
        self, house: House, sources: Sources, refusals: Refusals, event: str, keep: Keep
    ) -> None:
        self._house = house
        self._sources = sources
        self._refusals = refusals
        self._event = event
        self._keep = keep

    async def take(self, call: Call) -> Answer:
        """The answer to a batch."""
        door = Door(call.scope, event=self._event)
        token = auth.token_of(call.headers)
        caller, signers, signature = None, [], b""
        if token is not None:
            caller = await self._house.store.read(auth.authenticate, token)
            door.sender = caller.login
        else:
            signature = signature_of(call.headers)
            signers = await self._sources.candidates(call.query.get("source"))
        try:
            return await self._read(call, door, caller, signers, signature)
        except NOTED as error:
            await self._refusals.note(door, error)
            raise

    async def _read(
        self,
        call: Call,
        door: Door,
        caller: Caller | None,
        signers: list[Signer],
        signature: bytes,
    ) -> Answer:
        limit = self._house.settings.max_event_bytes
        body = await self._house.intake.read(call.headers, call.receive, limit)
        door.size = len(body)
        try:
            source = None
            if caller is None:
                source = await signer(signers, body, signature)
                door.sender = f"source {source['name']}"
            return await self._keep(body, caller, source)
        finally:
            self._house.intake.give_back(len(body))
