"""An event as formats see it: its payload is parsed once, and read without trust in its shape."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson

from store.clock import iso
from store.trace_context import TraceContext

Json = dict[str, Any]
# The object that an event is about: the member of the payload, and the members that name it.
SUBJECTS = (
    ("review", ("id",)),
    ("comment", ("id",)),
    ("pull_request", ("number", "id")),
    ("issue", ("number", "id")),
    ("check_run", ("id",)),
    ("check_suite", ("id",)),
    ("workflow_job", ("id",)),
    ("workflow_run", ("id",)),
    ("release", ("tag_name", "id")),
    ("deployment", ("id",)),
    ("discussion", ("number", "id")),
    ("label", ("name",)),
    ("milestone", ("number",)),
    ("team", ("slug",)),
)


@dataclass
class EventView:
    """An event's name, delivery id, body (JSON) and time of arrival in microseconds."""

    name: str
    guid: str
    body: bytes
    accepted_at: int
    trace: TraceContext | None = None
    """The place in a trace from which it comes, or None."""
    own_repository: Json = field(default_factory=dict)
    """The event's repository, for a payload that has none: `id` and `full_name`, or empty."""

    @cached_property
    def payload(self) -> Json:
        """Return the payload; empty if it is not an object."""
        found = orjson.loads(self.body)
        return found if isinstance(found, dict) else {}

    @property
    def action(self) -> str | None:
        """Return the payload's action, or None."""
        return text_of(self.payload, "action")

    @property
    def kind(self) -> str:
        """Return the event's name with its action, such as `issues.opened`."""
        return f"{self.name}.{self.action}" if self.action else self.name

    @property
    def repository(self) -> Json:
        """Return the payload's repository, or else the event's own; empty if there is none."""
        return object_of(self.payload, "repository") or self.own_repository

    @property
    def time(self) -> str:
        """Return the time of arrival."""
        return iso(self.accepted_at)

    def subject(self) -> tuple[str, Json] | None:
        """Return the kind of the object that the event is about, and the object. None for others.

        An object without a name, number or id does not count.
        """
        for member, _ in SUBJECTS:
            found = object_of(self.payload, member)
            if found and name_of(member, found) is not None:
                return member, found
        return None


def name_of(member: str, found: Json) -> str | None:
    """Return the name, number or id of an object of this kind as text, or None if it has none."""
    for name in dict(SUBJECTS)[member]:
        value = found.get(name)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
            return str(value)
    return None


def object_of(value: Json, name: str) -> Json:
    """Return a member that is an object; empty if it is anything else."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def text_of(value: Json, *names: str) -> str | None:
    """Return the first of these members that is a text with content, or None."""
    for name in names:
        found = value.get(name)
        if isinstance(found, str) and found:
            return found
    return None
