"""The endpoints that accept single events, with a token or as a signed webhook."""

from typing import Any

from hub.auth import credentials
from hub.auth.source_signatures import SourceVerifier, find_signer, signature_of, speaks_for
from hub.http.body import apart, read_object
from hub.http.errors import Forbidden, Malformed, TooLarge, Unsupported
from hub.http.forms import URLENCODED, kind_of, read_urlencoded
from hub.http.response import Response, json_response
from hub.ingest import event_envelope, owner_events
from hub.ingest.auth_batcher import AuthBatcher
from hub.ingest.batch_endpoint import NDJSON
from hub.ingest.batches import Batches, has_lost_its_name, organization_id
from hub.ingest.event_envelope import EventOrigin
from hub.ingest.event_spans import EventSpans, trace_of
from hub.ingest.push_access import is_slow
from hub.ingest.rejections import RECORDED_ERRORS, IngestAttempt, Rejections
from hub.rest.context import Services
from hub.rest.request import Request
from store import Connection, Row
from store.delivery import events
from store.delivery.incoming import IncomingEvent, Receipt
from store.repositories import repository_names

TOPIC = """Post an event of a repository

The body is the payload, a JSON object. An id in X-Service-Delivery, X-GitHub-Delivery or \
Idempotency-Key makes it safe to repeat the request: the same body again gives the first response, \
another body under the same id is 409. The response is 202 once the event and its deliveries are \
on disk: {"id", "event_id", "deliveries"}. Only an administrator of the repository may send what \
only an administrator can do, such as member, public and repository. Only an owner of {owner} or \
a site administrator may send an event of no repository, such as team. Others get 403. They get \
422 if payload.repository.full_name is another name of the same owner, unless it is a former one, \
or payload.repository.id is the platform's id of this repository.

Role: write. Permission: contents (write). Scopes: repo, or public_repo for a public repository."""

EVENTS = """Post an event as a webhook

For a platform whose own webhook has this URL. The event and delivery id are in X-Service-*, \
X-Forgejo-*, X-Gitea-*, X-Gogs-* or X-GitHub-* headers. The body is JSON, or a form with the field \
payload. It is signed in X-Hub-Signature-256 (or the forges' own bare header) with the secret of a \
source, which ?source=NAME may name. The event goes to the repository in \
payload.repository.full_name. If no repository has this name, payload.repository.id or a former \
name finds it. An event of no repository known here goes to the hooks of the organization in the \
payload. A ping is stored but delivered to no subscriber. A source that is \
limited to an owner gets 403 for repositories of other owners."""


class IngestEndpoints:
    """The endpoints for single events. Batches are passed on to `Batches`."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._sources = SourceVerifier(services.store)
        self._rejections = Rejections(services)
        self._auth = AuthBatcher(services.store)
        self._spans = EventSpans(services.tracer, services.store.clock)
        self._batches = Batches(services, self._sources, self._rejections)

    async def topic(self, request: Request) -> Response:
        """Accept an event of a repository: POST /{owner}/{repo}/events/{event}."""
        token = credentials.require(credentials.token_of(request.headers))
        values = request.values
        known = token, values["owner"], values["repo"]
        caller, repo = await self._auth.ask(*known)
        asked_at = self._services.store.clock.now()
        name = values["event"].removesuffix(".json")
        attempt = IngestAttempt(request.scope, caller.login, name[:100])
        try:
            event_envelope.platform_event(name)
            attempt.guid = guid = event_envelope.guid_of(request.headers)
            body = await self._body(request, attempt)
            try:
                if is_slow(asked_at, self._services.store.clock.now()):
                    caller, repo = await self._auth.ask(*known)
                payload = await apart(body, read_object, body)
                if not owner_events.is_usual(repo, name, payload):
                    await self._services.store.read(owner_events.check, caller, repo, name, payload)
                origin = EventOrigin(repo["id"], token_id=caller.token_id)
                arrival = await apart(
                    body, event_envelope.arrival, origin, guid, name, body, payload
                )
                # Many requests wait for the commit at once, and a parsed payload takes many times
                # the memory of its text.
                del payload
                return await self._accept(request, arrival)
            finally:
                self._services.body_reader.give_back(len(body))
        except RECORDED_ERRORS as error:
            await self._rejections.record(attempt, error)
            raise

    async def events(self, request: Request) -> Response:
        """Accept a signed webhook: POST /events."""
        if kind_of(request.headers.get(b"content-type", b"")) in NDJSON:
            return await self._batches.take(request)
        # An Authorization header, which some forges can add, plays no part here.
        request.credentials = "signature"
        signature = signature_of(request.headers)
        candidates = await self._sources.candidates(request.query.get("source"))
        name = event_envelope.first(request.headers, event_envelope.EVENT_HEADERS)
        attempt = IngestAttempt(request.scope, None, name and name[:100])
        body = await self._unknown_body(request, attempt)
        try:
            source = await apart(body, find_signer, candidates, body, signature)
            attempt.sender = f"source {source['name']}"
            return await self._signed(request, attempt, source, name, body)
        except RECORDED_ERRORS as error:
            await self._rejections.record(attempt, error)
            raise
        finally:
            self._services.body_reader.give_back(len(body))

    async def _body(self, request: Request, attempt: IngestAttempt) -> bytes:
        declared = request.headers.get(b"content-length", b"")
        attempt.size = int(declared[:18]) if declared.isdigit() else None
        limit = self._services.settings.max_event_bytes
        body = await self._services.body_reader.read(request, limit)
        attempt.size = len(body)
        return body

    async def _unknown_body(self, request: Request, attempt: IngestAttempt) -> bytes:
        try:
            return await self._body(request, attempt)
        except (TooLarge, Unsupported) as error:
            # Its signature cannot be checked, but the rejection must still be recorded.
            await self._rejections.record(attempt, error)
            raise

    async def _signed(
        self, request: Request, attempt: IngestAttempt, source: Row, name: str | None, body: bytes
    ) -> Response:
        if name is None:
            raise Malformed("The event's name is missing: send X-GitHub-Event or a similar header")
        event_envelope.any_event(name)
        attempt.guid = guid = event_envelope.guid_of(request.headers)
        if kind_of(request.headers.get(b"content-type", b"")) == URLENCODED:
            body = await _payload_field(body)
        payload = await apart(body, read_object, body)
        repo_id, org_id = await self._services.store.read(place_of, source, name, payload)
        origin = EventOrigin(repo_id, source["id"], org_id)
        arrival = await apart(body, event_envelope.arrival, origin, guid, name, body, payload)
        del payload
        return await self._accept(request, arrival)

    async def _accept(self, request: Request, arrival: IncomingEvent) -> Response:
        with self._spans.accepting([arrival], trace_of(request.scope)) as receipts:
            receipt: Receipt = await self._services.store.batch(
                events.accept, arrival, weight=len(arrival.body)
            )
            receipts.append(receipt)
        self._services.metrics.count_accepted([receipt])
        return json_response(
            202,
            {"id": receipt.guid, "event_id": receipt.event_id, "deliveries": receipt.deliveries},
        )


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
    found = repository_names.find_reported(db, payload, owner, name)
    return None if found is not None and has_lost_its_name(db, found, payload) else found


async def _payload_field(body: bytes) -> bytes:
    fields = await apart(body, read_urlencoded, body)
    if "payload" not in fields:
        raise Malformed("The form has no field payload")
    return fields["payload"].encode()
