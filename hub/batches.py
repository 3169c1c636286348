"""Events in batches: one JSON object a line, all of them taken or none."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from hub import access, arrivals, auth
from hub.access import OnRepo
from hub.answers import Answer, json_answer
from hub.auth import Caller
from hub.call import Call
from hub.context import House
from hub.errors import Forbidden, HubError, Malformed, Rejected, TooLarge
from hub.refused import NOTED, Door, Refusals
from hub.resolve import find_repository
from hub.sources import Signer, Sources, signature_of, signer
from hub.validation import read_object
from store import Connection, Row, events, guids
from store.errors import Missing
from store.events import Arrival

NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl")

DESCRIPTION = """With Content-Type: application/x-ndjson the body is a batch, one JSON object a \
line: {"id", "event", "repository": "owner/name", "payload": {...}}; id may be left out. It is \
signed by a source as above, or comes with a token that may push to each of the repositories. \
One bad line, and nothing is kept: the answer (400, 422) names each one by its number, from 1. \
Otherwise it is 202 {"accepted", "duplicates", "events": [{"id", "event_id", "deliveries"}]}."""


@dataclass(slots=True)
class Line:
    """One event of a batch; `repository` is owner/name, or empty for a source's that names none."""

    number: int
    guid: str
    name: str
    repository: str
    payload: dict[str, Any]
    body: bytes


Found = dict[str, Row | HubError | None]
"""What a repository's name led to: it, the reason why not, or nothing known here."""


class Batches:
    """The third door."""

    def __init__(self, house: House, sources: Sources, refusals: Refusals, needed: OnRepo) -> None:
        self._house = house
        self._sources = sources
        self._refusals = refusals
        self._needed = needed

    async def take(self, call: Call) -> Answer:
        """POST /events with lines of JSON."""
        door = Door(call.scope, event="batch")
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

    async def _keep(self, body: bytes, caller: Caller | None, source: Row | None) -> Answer:
        check = arrivals.any_event if source else arrivals.platform_event
        most = self._house.settings.max_batch_lines
        lines = await asyncio.to_thread(read_lines, body, most, check)
        names = {line.repository for line in lines}
        if source is not None:
            found = await self._house.store.read(_spoken_for, source, names)
        else:
            assert caller is not None, "a batch has a token or a signature"
            found = await self._house.store.read(_pushed_to, caller, self._needed, names)
        _refuse((line.number, error) for line in lines if (error := _error(found, line)))
        arrived = await asyncio.to_thread(_arrivals, lines, found, source)
        receipts = await self._house.store.write(events.accept_all, arrived)
        self._house.measures.took(receipts)
        return json_answer(202, _told(receipts))


def read_lines(body: bytes, most: int, check: Callable[[str], str]) -> list[Line]:
    """The lines of a batch. Malformed or Rejected, naming each line that is bad."""
    body = body.strip()
    if body.count(b"\n") >= most:
        raise TooLarge(f"A batch holds at most {most} lines.")
    lines, bad = [], []
    for number, text in enumerate(body.split(b"\n"), 1):
        try:
            lines.append(_line(number, text, check))
        except HubError as error:
            bad.append((number, error))
    _refuse(bad)
    return lines


def _line(number: int, text: bytes, check: Callable[[str], str]) -> Line:
    content = read_object(text)
    guid, name, payload = (content.get(member) for member in ("id", "event", "payload"))
    if not isinstance(payload, dict):
        raise Rejected("payload is not an object")
    if not isinstance(name, str):
        raise Rejected("event is not a string")
    if guid is not None and not isinstance(guid, str):
        raise Rejected("id is not a string")
    repository = content.get("repository", arrivals.repository_of(payload) or "")
    if not isinstance(repository, str):
        raise Rejected("repository is not a string")
    guid = guids.new() if guid is None else arrivals.checked_guid(guid)
    return Line(number, guid, check(name), repository, payload, _written(payload))


def _written(payload: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(payload)
    except orjson.JSONEncodeError:
        raise Rejected("payload is nested too deeply") from None


def _refuse(bad: Iterable[tuple[int, HubError]]) -> None:
    errors = [
        {
            "resource": "Event",
            "field": "line",
            "code": "custom",
            "index": number,
            "message": f"line {number}: {error}",
            "kind": type(error),
        }
        for number, error in bad
    ]
    if not errors:
        return
    kinds = {error.pop("kind") for error in errors}
    lines = "line" if len(errors) == 1 else "lines"
    message = f"{len(errors)} {lines} cannot be taken, so nothing was kept"
    raise (Malformed if Malformed in kinds else Rejected)(message, errors)


def _pushed_to(db: Connection, caller: Caller, needed: OnRepo, names: Iterable[str]) -> Found:
    """The repositories that the caller may push to, and why not to the others."""
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


def _spoken_for(db: Connection, source: Row, names: Iterable[str]) -> Found:
    """The repositories that are known here, and why the source may not speak for some of them."""
    found: Found = {}
    for name in names:
        repo = _repository(db, name)
        found[name] = repo
        if repo is not None and source["owner_id"] not in (None, repo["owner_id"]):
            found[name] = Rejected(f"source {source['name']} may not speak for {name}")
    return found


def _repository(db: Connection, full_name: str) -> Row | None:
    owner, slash, name = full_name.partition("/")
    return find_repository(db, owner, name) if slash else None


def _error(found: Found, line: Line) -> HubError | None:
    answer = found[line.repository]
    return answer if isinstance(answer, HubError) else None


def _arrivals(lines: Iterable[Line], found: Found, source: Row | None) -> list[Arrival]:
    arrived = []
    for line in lines:
        repo = found[line.repository]
        repo_id = repo["id"] if isinstance(repo, dict) else 0
        source_id = source["id"] if source else 0
        if source_id and line.name == "ping":
            repo_id = 0
        scope = -source_id if source_id else repo_id
        given = (scope, line.guid, repo_id, source_id, line.name, line.body, line.payload)
        arrived.append(arrivals.arrival(*given))
    return arrived


def _told(receipts: list[events.Receipt]) -> dict[str, Any]:
    repeated = sum(receipt.duplicate for receipt in receipts)
    return {
        "accepted": len(receipts) - repeated,
        "duplicates": repeated,
        "events": [
            {"id": one.guid, "event_id": one.event_id, "deliveries": one.deliveries}
            for one in receipts
        ],
    }
