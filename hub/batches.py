"""Events in batches: one JSON object a line, all of them taken or none."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from hub import access, arrivals
from hub.access import OnRepo
from hub.answers import Answer, json_answer
from hub.auth import Caller
from hub.batch_door import BatchDoor
from hub.context import House
from hub.errors import Forbidden, HubError, Rejected
from hub.lines import read, refuse
from hub.refused import Refusals
from hub.resolve import find_repository
from hub.sources import Sources
from hub.validation import read_object
from store import Connection, Row, events, guids
from store.errors import Missing
from store.events import Arrival

DESCRIPTION = """With Content-Type: application/x-ndjson the body is a batch, one JSON object a \
line: {"id", "event", "repository": "owner/name", "payload": {...}}; id may be left out. It is \
signed by a source as above, or comes with a token that may push to each of the repositories. \
One bad line, and nothing is kept: the answer (400, 422) names each one by its number, from 1. \
Otherwise it is 202 {"accepted", "duplicates", "events": [{"id", "event_id", "deliveries"}]}."""


RESOURCE = "Event"


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
        self._needed = needed
        self.take = BatchDoor(house, sources, refusals, "batch", self._keep).take

    async def _keep(self, body: bytes, caller: Caller | None, source: Row | None) -> Answer:
        check = arrivals.any_event if source else arrivals.platform_event
        most = self._house.settings.max_batch_lines
        lines = await asyncio.to_thread(read, body, most, RESOURCE, partial(_line, check))
        names = {line.repository for line in lines}
        if source is not None:
            found = await self._house.store.read(_spoken_for, source, names)
        else:
            assert caller is not None, "a batch has a token or a signature"
            found = await self._house.store.read(_pushed_to, caller, self._needed, names)
        refuse(RESOURCE, ((line.number, error) for line in lines if (error := _error(found, line))))
        arrived = await asyncio.to_thread(_arrivals, lines, found, source)
        receipts = await self._house.store.write(events.accept_all, arrived)
        self._house.measures.took(receipts)
        return json_answer(202, _told(receipts))


def _line(check: Callable[[str], str], number: int, text: bytes) -> Line:
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
