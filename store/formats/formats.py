"""The formats that a hook may ask for, by name."""

from typing import Literal, NamedTuple, get_args

from store.formats import chat, cloudevents, thin
from store.formats.event_view import EventView

Format = Literal[
    "platform",
    "cloudevents_binary",
    "cloudevents_structured",
    "thin",
    "slack",
    "teams",
    "discord",
    "mattermost",
]
PLATFORM: Format = "platform"
FORMATS: tuple[Format, ...] = get_args(Format)
HEADER = "webhook-format"
"""The header that names the format, if it is not the platform's."""
JSON = "application/json"


class Rendered(NamedTuple):
    """The exact bytes of a body, and the header lines that belong to it."""

    body: bytes
    headers: str = ""


def media_type(name: str) -> str:
    return "application/cloudevents+json" if name == "cloudevents_structured" else JSON


def render(name: str, event: EventView, prefix: str = cloudevents.PREFIX) -> Rendered:
    """Return an event in a format. `prefix` begins the types of CloudEvents."""
    if name == PLATFORM:
        return Rendered(event.body)
    line = f"{HEADER}: {name}\r\n"
    if name.startswith("cloudevents"):
        found = cloudevents.attributes(event, prefix)
        if name == "cloudevents_binary":
            return Rendered(event.body, line + cloudevents.headers(found))
        return Rendered(cloudevents.envelope(event, found), line)
    if name == "thin":
        return Rendered(thin.render(event), line)
    return Rendered(chat.render(name, event), line)
