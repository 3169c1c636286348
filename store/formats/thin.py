"""Thin events: what happened to which object, and where to read it. The payload is left out."""

from store import json_bytes
from store.formats.event_view import EventView, Json, name_of, text_of


def render(event: EventView) -> bytes:
    about = event.subject()
    return json_bytes.dumps(
        {
            "id": event.guid,
            "type": event.kind,
            "created_at": event.time,
            "repository": _repository(event.repository),
            "related_object": None if about is None else _object(*about),
        }
    )


def _repository(found: Json) -> Json | None:
    if not found:
        return None
    return {
        "id": found.get("id") if isinstance(found.get("id"), int) else None,
        "full_name": text_of(found, "full_name"),
        "url": text_of(found, "url"),
    }


def _object(member: str, found: Json) -> Json:
    return {"type": member, "id": name_of(member, found), "url": text_of(found, "url", "html_url")}
