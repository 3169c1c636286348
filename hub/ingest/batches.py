"""Batches of events, one JSON object per line, accepted or rejected as a whole."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from hub.auth import access
from hub.auth.access import OnRepo
from hub.auth.credentials import Caller
from hub.auth.source_signatures import SourceVerifier, speaks_for
from hub.http.body import read_object
from hub.http.errors import Forbidden, HubError, Rejected
from hub.http.ndjson import read, reject
from hub.http.response import Response, json_response
from hub.ingest import event_envelope
from hub.ingest.batch_endpoint import BatchEndpoint
from hub.ingest.event_spans import EventSpans, trace_of
from hub.ingest.rejections import Rejections
from hub.rest.context import Services
from hub.rest.request import Request
from store import Connection, Row, trace_context
from store.accounts import accounts
from store.database import uuid7
from store.delivery import events, incoming
from store.delivery.incoming import IncomingEvent
from store.errors import Missing
from store.repositories import repositories
from store.trace_context import TraceContext

DESCRIPTION = """With Content-Type: application/x-ndjson the body is a batch, one JSON object per \
line: {"id", "event", "repository": "owner/name", "payload": {...}}; id is optional, and so are \
traceparent and tracestate. The batch is \
signed by a source as above, or sent with a token that may push to each of the repositories. \
If one line is bad, nothing is stored, and the response (400, 422) lists each bad line by its \
number, from 1. \
Otherwise it is 202 {"accepted", "duplicates", "events": [{"id", "event_id", "deliveries"}]}."""


RESOURCE = "Event"


@dataclass(slots=True)
class EventLine:
    """One event of a batch.

    `repository` is owner/name, or empty if a source's event names none. `organization` is the login
    of the payload's organization or of the repository's owner, or empty.
    """

    number: int
    guid: str
    name: str
    repository: str
    organization: str
    payload: dict[str, Any]
    body: bytes
    trace: TraceContext | None = None


Found = dict[str, Row | HubError | None]
"""By name: the repository, the error that rejects it, or None if it is not known here."""
Organizations = dict[str, int | HubError]
"""By login: the organization's id, 0 if it is not known here, or the error that rejects it."""


class Batches:
    """The endpoint for batches of events."""

    def __init__(
        self, services: Services, sources: SourceVerifier, rejections: Rejections, needed: OnRepo
    ) -> None:
        self._services = services
        self._needed = needed
        self._spans = EventSpans(services.tracer, services.store.clock)
        self.take = BatchEndpoint(services, sources, rejections, "batch", self._keep).take

    async def _keep(
        self, request: Request, body: bytes, caller: Caller | None, source: Row | None
    ) -> Response:
        check = event_envelope.any_event if source else event_envelope.platform_event
        most = self._services.settings.max_batch_lines
        lines = await asyncio.to_thread(read, body, most, RESOURCE, partial(_line, check))
        names = {line.repository for line in lines}
        organizations: Organizations = {}
        if source is not None:
            found, organizations = await self._services.store.read(_check_source, source, lines)
        else:
            assert caller is not None, "a batch has a token or a signature"
            found = await self._services.store.read(
                _check_write_access, caller, self._needed, names
            )
        reject(RESOURCE, _errors(lines, found, organizations))
        arrived = await asyncio.to_thread(_arrivals, lines, found, organizations, source)
        for line, event in zip(lines, arrived, strict=True):
            event.trace = line.trace
        with self._spans.accepting(arrived, trace_of(request.scope)) as receipts:
            receipts += await self._services.store.write(events.accept_all, arrived)
        self._services.measures.took(receipts)
        return json_response(202, _receipts(receipts))


def _line(check: Callable[[str], str], number: int, text: bytes) -> EventLine:
    content = read_object(text)
    guid, name, payload = (content.get(member) for member in ("id", "event", "payload"))
    if not isinstance(payload, dict):
        raise Rejected("payload is not an object")
    if not isinstance(name, str):
        raise Rejected("event is not a string")
    if guid is not None and not isinstance(guid, str):
        raise Rejected("id is not a string")
    repository = content.get("repository", event_envelope.repository_of(payload) or "")
    if not isinstance(repository, str):
        raise Rejected("repository is not a string")
    guid = uuid7.new() if guid is None else event_envelope.checked_guid(guid)
    organization = event_envelope.organization_of(payload, repository) or ""
    return EventLine(
        number,
        guid,
        check(name),
        repository,
        organization,
        payload,
        _written(payload),
        _trace(content),
    )


def _trace(content: dict[str, Any]) -> TraceContext | None:
    """Return the trace context of a line. Like the headers, it is ignored if it is not valid."""
    parent, state = content.get("traceparent"), content.get("tracestate")
    if not isinstance(parent, str):
        return None
    return trace_context.parse([parent], [state] if isinstance(state, str) else [])


def _written(payload: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(payload)
    except orjson.JSONEncodeError:
        raise Rejected("payload is nested too deeply") from None


def _check_write_access(
    db: Connection, caller: Caller, needed: OnRepo, names: Iterable[str]
) -> Found:
    """Return the repositories that the caller may push to, and the errors for the others."""
    found: Found = {}
    for name in names:
        repo = _repository(db, name)
        try:
            if repo is None:
                raise Missing("repository")
            access.check(db, needed, caller, repo)
            found[name] = repo
        except Missing:
            found[name] = Rejected(f'No repository found: "{name[:200]}"')
        except Forbidden as error:
            found[name] = error
    return found


def _check_source(
    db: Connection, source: Row, lines: Sequence[EventLine]
) -> tuple[Found, Organizations]:
    """Return the known repositories and, for events of no known one, the organizations.

    There is an error for each name that the source may not send for. The error does not depend on
    whether the repository or organization is known.
    """
    found: Found = {}
    for name in {line.repository for line in lines}:
        owner, slash, _ = name.partition("/")
        if slash and not speaks_for(source, owner):
            found[name] = Rejected(
                f"source {source['name']} may not send data for {name.lower()[:200]}"
            )
        else:
            found[name] = _repository(db, name)
    organizations: Organizations = {}
    for login in {line.organization for line in lines if found[line.repository] is None}:
        try:
            organizations[login] = organization_id(db, source, login)
        except Forbidden as error:
            organizations[login] = Rejected(str(error))
    return found, organizations


def organization_id(db: Connection, source: Row, login: str | None) -> int:
    """Return the id of the organization with this login, or 0.

    Raises Forbidden if the source may not send for it, whether it exists or not.
    """
    if not login:
        return 0
    if not speaks_for(source, login):
        raise Forbidden(f"Source {source['name']} may not send data for {login.lower()[:100]}")
    account = None if "\0" in login else accounts.by_login(db, login)
    return account["id"] if account is not None and account["kind"] == "Organization" else 0


def _repository(db: Connection, full_name: str) -> Row | None:
    owner, slash, name = full_name.partition("/")
    return repositories.find(db, owner, name) if slash else None


def _errors(
    lines: Iterable[EventLine], found: Found, organizations: Organizations
) -> Iterable[tuple[int, HubError]]:
    for line in lines:
        repo = found[line.repository]
        answer = organizations.get(line.organization) if repo is None else repo
        if isinstance(answer, HubError):
            yield line.number, answer


def _arrivals(
    lines: Iterable[EventLine],
    found: Found,
    organizations: Organizations,
    source: Row | None,
) -> list[IncomingEvent]:
    arrived = []
    for line in lines:
        repo = found[line.repository]
        repo_id = repo["id"] if isinstance(repo, dict) else 0
        org = organizations.get(line.organization, 0)
        org_id = org if isinstance(org, int) and not repo_id else 0
        source_id = source["id"] if source else 0
        if source_id and line.name == "ping":
            repo_id = org_id = 0
        origin = event_envelope.EventOrigin(repo_id, source_id, org_id)
        arrived.append(
            event_envelope.arrival(origin, line.guid, line.name, line.body, line.payload)
        )
    return arrived


def _receipts(receipts: list[incoming.Receipt]) -> dict[str, Any]:
    repeated = sum(receipt.duplicate for receipt in receipts)
    return {
        "accepted": len(receipts) - repeated,
        "duplicates": repeated,
        "events": [
            {"id": one.guid, "event_id": one.event_id, "deliveries": one.deliveries}
            for one in receipts
        ],
    }
