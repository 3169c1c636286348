"""Batches of events, one JSON object per line, accepted or rejected as a whole."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from hub.auth import access
from hub.auth.access import OnRepo
from hub.auth.credentials import Caller
from hub.auth.source_signatures import SourceVerifier, speaks_for
from hub.http.errors import Forbidden, HubError, Rejected
from hub.http.ndjson import read, reject
from hub.http.response import Response, json_response
from hub.ingest import event_envelope
from hub.ingest.batch_endpoint import BatchEndpoint
from hub.ingest.rejections import Rejections
from hub.rest.context import Services
from hub.rest.resolve import find_repository
from hub.rest.validation import read_object
from store import Connection, Row
from store.database import uuid7
from store.delivery import events
from store.delivery.events import IncomingEvent
from store.errors import Missing

DESCRIPTION = """With Content-Type: application/x-ndjson the body is a batch, one JSON object per \
line: {"id", "event", "repository": "owner/name", "payload": {...}}; id is optional. The batch is \
signed by a source as above, or sent with a token that may push to each of the repositories. \
If one line is bad, nothing is stored, and the response (400, 422) lists each bad line by its \
number, from 1. \
Otherwise it is 202 {"accepted", "duplicates", "events": [{"id", "event_id", "deliveries"}]}."""


RESOURCE = "Event"


@dataclass(slots=True)
class EventLine:
    """One event of a batch. `repository` is owner/name, or empty if a source's event names none."""

    number: int
    guid: str
    name: str
    repository: str
    payload: dict[str, Any]
    body: bytes


Found = dict[str, Row | HubError | None]
"""By name: the repository, the error that rejects it, or None if it is not known here."""


class Batches:
    """The endpoint for batches of events."""

    def __init__(
        self, services: Services, sources: SourceVerifier, refusals: Rejections, needed: OnRepo
    ) -> None:
        self._services = services
        self._needed = needed
        self.take = BatchEndpoint(services, sources, refusals, "batch", self._keep).take

    async def _keep(self, body: bytes, caller: Caller | None, source: Row | None) -> Response:
        check = event_envelope.any_event if source else event_envelope.platform_event
        most = self._services.settings.max_batch_lines
        lines = await asyncio.to_thread(read, body, most, RESOURCE, partial(_line, check))
        names = {line.repository for line in lines}
        if source is not None:
            found = await self._services.store.read(_check_source, source, names)
        else:
            assert caller is not None, "a batch has a token or a signature"
            found = await self._services.store.read(
                _check_write_access, caller, self._needed, names
            )
        reject(RESOURCE, ((line.number, error) for line in lines if (error := _error(found, line))))
        arrived = await asyncio.to_thread(_arrivals, lines, found, source)
        receipts = await self._services.store.write(events.accept_all, arrived)
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
    return EventLine(number, guid, check(name), repository, payload, _written(payload))


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


def _check_source(db: Connection, source: Row, names: Iterable[str]) -> Found:
    """Return the known repositories, and an error for each name that the source may not send
    for.

    The error does not depend on whether the repository is known.
    """
    found: Found = {}
    for name in names:
        owner, slash, _ = name.partition("/")
        if slash and not speaks_for(source, owner):
            found[name] = Rejected(
                f"source {source['name']} may not send data for {name.lower()[:200]}"
            )
        else:
            found[name] = _repository(db, name)
    return found


def _repository(db: Connection, full_name: str) -> Row | None:
    owner, slash, name = full_name.partition("/")
    return find_repository(db, owner, name) if slash else None


def _error(found: Found, line: EventLine) -> HubError | None:
    answer = found[line.repository]
    return answer if isinstance(answer, HubError) else None


def _arrivals(lines: Iterable[EventLine], found: Found, source: Row | None) -> list[IncomingEvent]:
    arrived = []
    for line in lines:
        repo = found[line.repository]
        repo_id = repo["id"] if isinstance(repo, dict) else 0
        source_id = source["id"] if source else 0
        if source_id and line.name == "ping":
            repo_id = 0
        scope = -source_id if source_id else repo_id
        given = (scope, line.guid, repo_id, source_id, line.name, line.body, line.payload)
        arrived.append(event_envelope.arrival(*given))
    return arrived


def _receipts(receipts: list[events.Receipt]) -> dict[str, Any]:
    repeated = sum(receipt.duplicate for receipt in receipts)
    return {
        "accepted": len(receipts) - repeated,
        "duplicates": repeated,
        "events": [
            {"id": one.guid, "event_id": one.event_id, "deliveries": one.deliveries}
            for one in receipts
        ],
    }
