"""The endpoints that accept single events, with a token or as a signed webhook."""

import asyncio
from typing import Any

from hub.auth import credentials
from hub.auth.access import on_repo
from hub.auth.source_signatures import SourceVerifier, find_signer, signature_of, speaks_for
from hub.http.body import LARGE
from hub.http.errors import Forbidden, Malformed, TooLarge
from hub.http.forms import URLENCODED, kind_of, read_urlencoded
from hub.http.response import Response, json_response
from hub.ingest import event_envelope
from hub.ingest.auth_batcher import AuthBatcher
from hub.ingest.batch_endpoint import NDJSON
from hub.ingest.batches import Batches, organization_id
from hub.ingest.event_spans import EventSpans
from hub.ingest.rejections import RECORDED_ERRORS, IngestAttempt, Rejections
from hub.ingest.trace_headers import trace_of
from hub.rest.context import Services
from hub.rest.request import Request
from hub.rest.resolve import find_repository
from store import Connection, Row
from store.delivery import events
from store.delivery.events import IncomingEvent, Receipt

TOPIC = """Post an event of a repository

The body is the payload, a JSON object. An id in X-Service-Delivery, X-GitHub-Delivery or \
Idempotency-Key makes it safe to repeat the request: the same body again gives the first response, \
another body under the same id is 409. The response is 202 once the event and its deliveries are \
on disk: {"id", "event_id", "deliveries"}.

Role: write. Permission: contents (write). Scopes: repo, or public_repo for a public repository."""

EVENTS = """Post an event as a webhook

For a platform whose own webhook has this URL. The event and delivery id are in X-Service-*, \
X-Forgejo-*, X-Gitea-*, X-Gogs-* or X-GitHub-* headers. The body is JSON, or a form with the field \
payload. It is signed in X-Hub-Signature-256 (or the forges' own bare header) with the secret of a \
source, which ?source=NAME may name. The event goes to the repository in \
payload.repository.full_name. An event of no repository known here goes to the hooks of the \
organization in the payload. A ping is stored but delivered to no subscriber. A source that is \
limited to an owner gets 403 for repositories of other owners."""

PUSH = on_repo("contents", "write", role="write", scopes=("repo",), public_scopes=("public_repo",))


class IngestEndpoints:
    """The endpoints for single events. Batches are passed on to `Batches`."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._sources = SourceVerifier(services.store)
        self._refusals = Rejections(services.store)
        self._admission = AuthBatcher(services.store, PUSH)
        self._spans = EventSpans(services.tracer, services.store.clock)
        self._batches = Batches(services, self._sources, self._refusals, PUSH)

    async def topic(self, call: Request) -> Response:
        """Accept an event of a repository: POST /{owner}/{repo}/events/{event}."""
        token = credentials.require(credentials.token_of(call.headers))
        values = call.values
        caller, repo = await self._admission.ask(token, values["owner"], values["repo"])
        name = values["event"].removesuffix(".json")
        door = IngestAttempt(call.scope, caller.login, name[:100])
        try:
            event_envelope.platform_event(name)
            door.guid = guid = event_envelope.guid_of(call.headers)
            body = await self._body(call, door)
            try:
                payload = await event_envelope.read_payload(body)
                arrival = await _arrival(repo["id"], guid, repo["id"], 0, name, body, payload)
                # Many requests wait for the commit at once, and a parsed payload takes many times
                # its text.
                del payload
                return await self._accept(call, arrival)
            finally:
                self._services.intake.give_back(len(body))
        except RECORDED_ERRORS as error:
            await self._refusals.note(door, error)
            raise

    async def events(self, call: Request) -> Response:
        """Accept a signed webhook: POST /events."""
        if kind_of(call.headers.get(b"content-type", b"")) in NDJSON:
            return await self._batches.take(call)
        signature = signature_of(call.headers)
        candidates = await self._sources.candidates(call.query.get("source"))
        name = event_envelope.first(call.headers, event_envelope.EVENT_HEADERS)
        door = IngestAttempt(call.scope, None, name and name[:100])
        body = await self._unknown_body(call, door)
        try:
            source = await find_signer(candidates, body, signature)
            door.sender = f"source {source['name']}"
            return await self._signed(call, door, source, name, body)
        except RECORDED_ERRORS as error:
            await self._refusals.note(door, error)
            raise
        finally:
            self._services.intake.give_back(len(body))

    async def _body(self, call: Request, door: IngestAttempt) -> bytes:
        declared = call.headers.get(b"content-length", b"")
        door.size = int(declared[:18]) if declared.isdigit() else None
        limit = self._services.settings.max_event_bytes
        body = await self._services.intake.read(call.headers, call.receive, limit)
        door.size = len(body)
        return body

    async def _unknown_body(self, call: Request, door: IngestAttempt) -> bytes:
        try:
            return await self._body(call, door)
        except TooLarge as error:
            # Its signature cannot be checked, but the rejection must still be recorded.
            await self._refusals.note(door, error)
            raise

    async def _signed(
        self, call: Request, door: IngestAttempt, source: Row, name: str | None, body: bytes
    ) -> Response:
        if name is None:
            raise Malformed("The event's name is missing: send X-GitHub-Event or a similar header")
        event_envelope.any_event(name)
        door.guid = guid = event_envelope.guid_of(call.headers)
        if kind_of(call.headers.get(b"content-type", b"")) == URLENCODED:
            body = _payload_field(body)
        payload = await event_envelope.read_payload(body)
        repo_id, org_id = await self._services.store.read(place_of, source, name, payload)
        scope = -source["id"]
        arrival = await _arrival(scope, guid, repo_id, source["id"], name, body, payload, org_id)
        del payload
        return await self._accept(call, arrival)

    async def _accept(self, call: Request, arrival: IncomingEvent) -> Response:
        with self._spans.accepting([arrival], trace_of(call.scope)) as receipts:
            receipt: Receipt = await self._services.store.batch(
                events.accept, arrival, weight=len(arrival.body)
            )
            receipts.append(receipt)
        self._services.measures.took([receipt])
        return json_response(
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
    org_id: int = 0,
) -> IncomingEvent:
    given = (scope, guid, repo_id, source_id, name, body, payload, org_id)
    if len(body) > LARGE:
        return await asyncio.to_thread(event_envelope.arrival, *given)
    return event_envelope.arrival(*given)


def place_of(db: Connection, source: Row, name: str, payload: dict[str, Any]) -> tuple[int, int]:
    """Return the ids of the payload's repository and, if that is not known, of its organization.

    An id is 0 if there is none. Raises Forbidden if the source may not send for the owner.
    """
    repo = repository_for(db, source, payload)
    # A source's ping is about its own webhook and concerns no subscriber.
    if name == "ping":
        return 0, 0
    if repo is not None:
        return repo["id"], 0
    return 0, organization_id(db, source, event_envelope.organization_of(payload))


def repository_for(db: Connection, source: Row, payload: dict[str, Any]) -> Row | None:
    """Return the payload's repository, or None if it is not known here.

    Raises Forbidden if the source may not send for its owner, whether the repository exists or not.
    """
    full_name = event_envelope.repository_of(payload) or ""
    owner, slash, name = full_name.partition("/")
    if not slash:
        return None
    if not speaks_for(source, owner):
        raise Forbidden(f"Source {source['name']} may not send data for {full_name.lower()[:200]}")
    return find_repository(db, owner, name)


def _payload_field(body: bytes) -> bytes:
    fields = read_urlencoded(body)
    if "payload" not in fields:
        raise Malformed("The form has no field payload")
    return fields["payload"].encode()
