"""Where events come in: with a token to the topic itself, or signed by a source as a webhook."""

import asyncio
from typing import Any

from hub import arrivals, auth
from hub.access import on_repo
from hub.admission import Admission
from hub.answers import Answer, json_answer
from hub.batch_door import NDJSON
from hub.batches import Batches
from hub.call import Call
from hub.context import House
from hub.errors import Forbidden, Malformed, TooLarge
from hub.forms import URLENCODED, kind_of, read_urlencoded
from hub.refused import NOTED, Door, Refusals
from hub.resolve import find_repository
from hub.sources import Sources, signature_of, signer
from store import Connection, Row, events
from store.events import Arrival, Receipt

TOPIC = """Post an event of a repository

The body is the payload, a JSON object. An id in X-Service-Delivery, X-GitHub-Delivery or \
Idempotency-Key makes posting again safe: the same again gives the first answer, another body \
under the same id is 409. The answer is 202 once the event, and what has to be delivered, is on \
disk: {"id", "event_id", "deliveries"}.

Role: write. Permission: contents (write). Scopes: repo, or public_repo for a public repository."""

EVENTS = """Post an event as a webhook

For a platform that points its own webhook here: event and delivery id in X-Service-*, \
X-Forgejo-*, X-Gitea-*, X-Gogs-* or X-GitHub-* headers; JSON, or a form with the field payload; \
signed in X-Hub-Signature-256 (or the forges' own bare header) with the secret of a source, which \
?source=NAME may name. It goes to the repository in payload.repository.full_name. What concerns no \
repository known here, and a ping, is kept and goes to nobody."""

PUSH = on_repo("contents", "write", role="write", scopes=("repo",), public_scopes=("public_repo",))


class Ingest:
    """The two doors; a batch goes on to `Batches`."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._sources = Sources(house.store)
        self._refusals = Refusals(house.store)
        self._admission = Admission(house.store, PUSH)
        self._batches = Batches(house, self._sources, self._refusals, PUSH)

    async def topic(self, call: Call) -> Answer:
        """POST /{owner}/{repo}/events/{event}"""
        token = auth.needed(auth.token_of(call.headers))
        values = call.values
        caller, repo = await self._admission.ask(token, values["owner"], values["repo"])
        name = values["event"].removesuffix(".json")
        door = Door(call.scope, caller.login, name[:100])
        try:
            arrivals.platform_event(name)
            door.guid = guid = arrivals.guid_of(call.headers)
            body = await self._body(call, door)
            try:
                payload = await arrivals.read_payload(body)
                arrival = await _arrival(repo["id"], guid, repo["id"], 0, name, body, payload)
                # Many wait for the commit at once, and a parsed payload is many times its text.
                del payload
                return await self._accept(arrival)
            finally:
                self._house.intake.give_back(len(body))
        except NOTED as error:
            await self._refusals.note(door, error)
            raise

    async def events(self, call: Call) -> Answer:
        """POST /events"""
        if kind_of(call.headers.get(b"content-type", b"")) in NDJSON:
            return await self._batches.take(call)
        signature = signature_of(call.headers)
        candidates = await self._sources.candidates(call.query.get("source"))
        name = arrivals.first(call.headers, arrivals.EVENT_HEADERS)
        door = Door(call.scope, None, name and name[:100])
        body = await self._unknown_body(call, door)
        try:
            source = await signer(candidates, body, signature)
            door.sender = f"source {source['name']}"
            return await self._signed(call, door, source, name, body)
        except NOTED as error:
            await self._refusals.note(door, error)
            raise
        finally:
            self._house.intake.give_back(len(body))

    async def _body(self, call: Call, door: Door) -> bytes:
        declared = call.headers.get(b"content-length", b"")
        door.size = int(declared[:18]) if declared.isdigit() else None
        limit = self._house.settings.max_event_bytes
        body = await self._house.intake.read(call.headers, call.receive, limit)
        door.size = len(body)
        return body

    async def _unknown_body(self, call: Call, door: Door) -> bytes:
        try:
            return await self._body(call, door)
        except TooLarge as error:
            # Its signature cannot be checked, and still it has to be seen.
            await self._refusals.note(door, error)
            raise

    async def _signed(
        self, call: Call, door: Door, source: Row, name: str | None, body: bytes
    ) -> Answer:
        if name is None:
            raise Malformed("The event's name is missing: X-GitHub-Event or its like")
        arrivals.any_event(name)
        door.guid = guid = arrivals.guid_of(call.headers)
        if kind_of(call.headers.get(b"content-type", b"")) == URLENCODED:
            body = _payload_field(body)
        payload = await arrivals.read_payload(body)
        repo = await self._house.store.read(repository_for, source, payload)
        # A source's ping is about its own webhook, and no subscriber's business.
        repo_id = repo["id"] if repo is not None and name != "ping" else 0
        scope = -source["id"]
        arrival = await _arrival(scope, guid, repo_id, source["id"], name, body, payload)
        del payload
        return await self._accept(arrival)

    async def _accept(self, arrival: Arrival) -> Answer:
        receipt: Receipt = await self._house.store.batch(
            events.accept, arrival, weight=len(arrival.body)
        )
        self._house.measures.took([receipt])
        return json_answer(
            202,
            {"id": receipt.guid, "event_id": receipt.event_id, "deliveries": receipt.deliveries},
        )


async def _arrival(
    scope: int,
    guid: str,
    repo_id: int,
    source_id: int,
    name: str,
    body: bytes,
    payload: dict[str, Any],
) -> Arrival:
    given = (scope, guid, repo_id, source_id, name, body, payload)
    if len(body) > arrivals.LARGE:
        return await asyncio.to_thread(arrivals.arrival, *given)
    return arrivals.arrival(*given)


def repository_for(db: Connection, source: Row, payload: dict[str, Any]) -> Row | None:
    """The repository that the payload is about, if it is known here. Forbidden for one that the
    source may not speak for.
    """
    owner, slash, name = (arrivals.repository_of(payload) or "").partition("/")
    repo = find_repository(db, owner, name) if slash else None
    if repo is not None and source["owner_id"] not in (None, repo["owner_id"]):
        raise Forbidden(f"Source {source['name']} may not speak for {repo['full_name']}")
    return repo


def _payload_field(body: bytes) -> bytes:
    fields = read_urlencoded(body)
    if "payload" not in fields:
        raise Malformed("The form has no field payload")
    return fields["payload"].encode()
