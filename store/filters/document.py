"""An event in the form that filters describe."""

from functools import cached_property
from typing import Any

from store.filters import cel_library

PAYLOAD_NAMES = ("payload", "body", "data")
"""The payload's own name, and its names in Convoy and Outpost."""


class EventDocument(dict[str, Any]):
    """An event's name, its action if it has one, and its payload."""

    @cached_property
    def cel_variables(self) -> Any:
        """The event as variables of CEL, which all hooks of the event share."""
        payload = self["payload"]
        return cel_library.environment().Activation(
            {"event": self["event"], "action": self.get("action")}
            | dict.fromkeys(PAYLOAD_NAMES, payload)
        )


def document_of(event: str, action: str | None, payload: Any) -> EventDocument:
    """Return an event as filters describe it."""
    found = EventDocument(event=event, payload=payload)
    if action is not None:
        found["action"] = action
    return found
