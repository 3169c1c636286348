"""The lines of a batch, each an event with its repository."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import orjson

from hub.http.body import read_object
from hub.http.errors import Rejected
from hub.ingest import event_envelope
from store import trace_context
from store.database import uuid7
from store.formats.long_numbers import rewritten
from store.trace_context import TraceContext


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


def read(check: Callable[[str], str], number: int, text: bytes) -> EventLine:
    """Parse a line. `check` checks the event's name. Raises Rejected or Malformed if it is bad."""
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
        _payload(text, content),
        _trace(content),
    )


def _trace(content: dict[str, Any]) -> TraceContext | None:
    """Return the trace context of a line. Like the headers, it is ignored if it is not valid."""
    parent, state = content.get("traceparent"), content.get("tracestate")
    if not isinstance(parent, str):
        return None
    return trace_context.parse([parent], [state] if isinstance(state, str) else [])


def _payload(text: bytes, content: dict[str, Any]) -> bytes:
    try:
        return rewritten(text, content, itemgetter("payload"))
    except orjson.JSONEncodeError:
        raise Rejected("payload is nested too deeply") from None
