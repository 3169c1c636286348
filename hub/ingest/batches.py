"""Batches of events, one JSON object per line, accepted or rejected as a whole."""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from hub.auth.credentials import Caller
from hub.auth.source_signatures import SourceVerifier, speaks_for
from hub.http.errors import Forbidden, HubError, Rejected
from hub.http.ndjson import read, reject
from hub.http.response import Response, json_response
from hub.ingest import event_envelope, event_lines
from hub.ingest.batch_endpoint import BatchEndpoint
from hub.ingest.event_lines import EventLine
from hub.ingest.event_spans import EventSpans, trace_of
from hub.ingest.owner_events import OwnerEvents
from hub.ingest.push_access import check_push_token, repository_to_push
from hub.ingest.rejections import Rejections
from hub.rest.context import Services
from hub.rest.request import Request
from store import Connection, Row
from store.accounts import accounts
from store.delivery import events, incoming
from store.delivery.incoming import IncomingEvent
from store.errors import Missing
from store.projection import projection_cursor
from store.repositories import repositories, repository_names
from store.repositories.repository_names import ReportedRepository

DESCRIPTION = """With Content-Type: application/x-ndjson the body is a batch, one JSON object per \
line: {"id", "event", "repository": "owner/name", "payload": {...}}; id is optional, and so are \
traceparent and tracestate. The batch is \
signed by a source as above, or sent with a token that may push to each of the repositories. \
A token without that scope or permission gets 403. \
Only an administrator's token may send what only an administrator can do. \
Only an owner's or a site administrator's token may send events of no repository, or name another \
repository of the owner in a payload. \
If one line is bad, nothing is stored, and the response (400, 422) lists each bad line by its \
number, from 1. \
Otherwise it is 202 {"accepted", "duplicates", "events": [{"id", "event_id", "deliveries"}]}."""


RESOURCE = "Event"


Found = dict[str, Row | HubError | None]
"""By name: the repository, the error that rejects it, or None if it is not known here."""
Organizations = dict[str, int | HubError]
"""By login: the organization's id, 0 if it is not known here, or the error that rejects it."""
Errors = list[tuple[int, HubError]]
"""The numbers of bad lines, with the error that rejects each."""


class Batches:
    """The endpoint for batches of events."""

    def __init__(self, services: Services, sources: SourceVerifier, rejections: Rejections) -> None:
        self._services = services
        self._spans = EventSpans(services.tracer, services.store.clock)
        self.take = BatchEndpoint(
            services, sources, rejections, "batch", self._keep, check_push_token
        ).take

    async def _keep(
        self, request: Request, body: bytes, caller: Caller | None, source: Row | None
    ) -> Response:
        check = event_envelope.any_event if source else event_envelope.platform_event
        most = self._services.settings.max_batch_lines
        lines = await asyncio.to_thread(
            read, body, most, RESOURCE, partial(event_lines.read, check)
        )
        organizations: Organizations = {}
        refused: Errors = []
        if source is not None:
            found, organizations = await self._services.store.read(_check_source, source, lines)
        else:
            assert caller is not None, "a batch has a token or a signature"
            found, refused = await self._services.store.read(_check_caller, caller, lines)
        bad = [*_errors(lines, found, organizations), *refused]
        reject(RESOURCE, sorted(bad, key=itemgetter(0)))
        arrived = await asyncio.to_thread(_arrivals, lines, found, organizations, source)
        for line, event in zip(lines, arrived, strict=True):
            event.trace = line.trace
            event.token_id = None if caller is None else caller.token_id
        with self._spans.accepting(arrived, trace_of(request.scope)) as receipts:
            receipts += await self._services.store.write(events.accept_all, arrived)
        self._services.metrics.count_accepted(receipts)
        return json_response(202, _receipts(receipts))


def _check_caller(
    db: Connection, caller: Caller, lines: Sequence[EventLine]
) -> tuple[Found, Errors]:
    """Return the repositories, and the errors of lines that only an owner may send."""
    found = _check_write_access(db, caller, {line.repository for line in lines})
    events_of, errors = OwnerEvents(db, caller), []
    for line in lines:
        repo = found[line.repository]
        if isinstance(repo, dict):
            try:
                events_of.check(repo, line.name, line.payload)
            except HubError as error:
                # Its traceback keeps the payload in memory.
                errors.append((line.number, error.with_traceback(None)))
    return found, errors


def _check_write_access(db: Connection, caller: Caller, names: Iterable[str]) -> Found:
    """Return the repositories that the caller may push to, and the errors for the others."""
    found: Found = {}
    for name in names:
        owner, _, own = name.partition("/")
        try:
            found[name] = repository_to_push(db, caller, owner, own)
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
        owner, slash, own = name.partition("/")
        if slash and not speaks_for(source, owner):
            found[name] = Rejected(
                f"source {source['name']} may not send data for {name.lower()[:200]}"
            )
        else:
            found[name] = repositories.find(db, owner, own) if slash else None
    _follow_renames(db, found, lines)
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


def _follow_renames(db: Connection, found: Found, lines: Iterable[EventLine]) -> None:
    """Give lines the present name of their repository if they have another one."""
    known: dict[ReportedRepository | None, Row | None] = {}
    for line in lines:
        named = found[line.repository]
        if isinstance(named, HubError) or not _may_mean_another(named, line):
            continue
        reported = repository_names.read(line.payload, line.repository)
        if reported not in known:
            known[reported] = _meant(db, named, line, reported)
        if (repo := known[reported]) is not None:
            line.repository = repo["full_name"]
            found[line.repository] = repo
        elif named is not None and has_lost_its_name(db, named, line.payload):
            line.repository = ""
            found[line.repository] = None


def _may_mean_another(named: Row | None, line: EventLine) -> bool:
    return named is None or repository_names.is_another(named, line.payload)


def _meant(
    db: Connection, named: Row | None, line: EventLine, reported: ReportedRepository | None
) -> Row | None:
    if named is None:
        return repository_names.find_renamed(db, reported)
    return repository_names.find_successor(db, named, line.payload)


def has_lost_its_name(db: Connection, repo: Row, payload: dict[str, Any]) -> bool:
    """Return whether a payload means a new repository that has got the name of this one.

    This one's renaming was accepted, and is still to become state. Its hooks must not get the
    events of the new one, which is not known yet.
    """
    is_another = repository_names.is_another(repo, payload)
    return is_another and projection_cursor.will_rename(db, repo["id"])


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
