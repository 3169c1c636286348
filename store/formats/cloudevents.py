"""CloudEvents 1.0 over HTTP: attributes in headers (binary), or an envelope (structured).

The attributes follow the platform's own adapter for CloudEvents.
"""

import re
from datetime import datetime
from urllib.parse import quote

import orjson

from store import json_bytes
from store.formats.event_view import EventView, name_of, text_of

PREFIX = "tocsin"
"""The beginning of an event's type, if a hook has no other one."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)
# A source is required. It stands for events without a repository.
NO_SOURCE = "urn:tocsin:hub"
MOST = 1024


def attributes(event: EventView, prefix: str) -> dict[str, str]:
    found = {
        "specversion": "1.0",
        "id": event.guid,
        "source": _source(event),
        "type": f"{prefix}.{event.kind}",
        "time": _time(event),
    }
    if event.trace is not None:
        found |= event.trace.members()
    subject = _subject(event)
    return found if subject is None else found | {"subject": subject}


def _source(event: EventView) -> str:
    found = event.repository
    url = text_of(found, "url", "html_url")
    if url is not None:
        return url
    full_name = text_of(found, "full_name")
    if full_name is None:
        return NO_SOURCE
    # A source is a reference: without the API's address, the path in the API is left. It takes
    # seconds to quote megabytes.
    return f"/repos/{quote(full_name[:MOST], errors='replace')}"


def _subject(event: EventView) -> str | None:
    about = event.subject()
    if about is None:
        # A status has no `ref`, and is about a commit.
        return text_of(event.payload, "ref", "sha")
    return name_of(*about)


def _time(event: EventView) -> str:
    """Return the time of the object's last change, if it has one, or else of the arrival."""
    about = event.subject()
    given = None if about is None else text_of(about[1], "updated_at")
    return given if given is not None and _is_time(given) else event.time


def _is_time(text: str) -> bool:
    """Return whether a text is a time as RFC 3339 writes it."""
    if not TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def headers(found: dict[str, str]) -> str:
    """Return the attributes as header lines, with other characters than printable ASCII escaped."""
    return "".join(f"ce-{name}: {_escaped(value[:MOST])}\r\n" for name, value in found.items())


def _escaped(value: str) -> str:
    return "".join(
        char
        if "!" <= char <= "~" and char not in '"%'
        else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))
        for char in value
    )


def envelope(event: EventView, found: dict[str, str]) -> bytes:
    """Return the event with its attributes as one JSON object. The payload's text is unchanged."""
    data = {"datacontenttype": "application/json", "data": orjson.Fragment(event.body)}
    return json_bytes.dumps({**found, **data})
