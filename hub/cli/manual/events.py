"""The page `reference/events.md`: every event, the operations that publish it, and its payload."""

from collections.abc import Iterator, Mapping
from typing import Any

from hub.api.apps import installation_changes
from hub.cli.manual.markdown import code, page, sentence, table
from hub.cli.manual.operations import api
from hub.operations import EVENTS, MODULES, OPERATIONS
from hub.ui.reference.schema_outline import members, type_text
from store.hooks import event_names
from store.hooks.event_names import HUB_EVENTS, PLATFORM_EVENTS

INTRODUCTION = """\
An event has a name (`push`) and often an action (`opened`). The name is the last part of its topic:
`/{owner}/{repo}/events/{event}`. A hook lists the names that it subscribes to. `*` stands for
all platform events that its repository, organization or app can have, and for none of the hub's
own events."""
PLATFORM = """\
These have the names that forges use. The payload is the body that the forge or your program
posted: the hub delivers it byte for byte. For some names the hub itself publishes an event when an
operation or a command changes something. The table has these actions. The payload of the hub has
the members of the forge's payload: `action`, the changed thing, `repository`, `organization` and
`sender`."""
OWN = """\
The hub publishes these when something changes for which forges have no event. To receive one,
subscribe to it by its name. Each one names the hooks that can have it. If an event is published
again to show the present state, its payload also has `"republished": true`."""
HOOKS = {
    "repository": "a repository",
    "organization": "an organization",
    "system": "the whole installation",
}
Json = Mapping[str, Any]


def events() -> str:
    parts = ["# Events", INTRODUCTION, "## Platform events", PLATFORM]
    rows = [[code(name), _actions(name)] for name in sorted(PLATFORM_EVENTS)]
    parts += [table(["event", "actions that the hub publishes"], rows)]
    parts += ["## Events of the hub", OWN]
    for name in sorted(HUB_EVENTS):
        parts += _section(name)
    return page(*parts)


def published() -> set[str]:
    """Return all events that the hub publishes: `name.action`, or `name` if it has no action."""
    found = {event for one in OPERATIONS for event in one.emits} | {*installation_changes.EMITS}
    return found | {name for module in MODULES for name in module.ops.row_serializers}


def _actions(name: str) -> str:
    found = sorted(one for one in published() if one.partition(".")[0] == name)
    return ", ".join(
        code(one.partition(".")[2]) if "." in one else "without an action" for one in found
    )


def _section(name: str) -> Iterator[str]:
    schema = api()["webhooks"][name]["post"]["requestBody"]["content"]["application/json"]["schema"]
    operations = sorted(
        one.id for one in OPERATIONS if name in {e.partition(".")[0] for e in one.emits}
    )
    yield f"### {name}"
    described = api()["components"]["schemas"][type_text(schema)[0][1]]
    paragraphs = (described.get("description") or "").split("\n\n")
    yield " ".join(sentence(one) for one in paragraphs)
    rows = [
        [code(one["name"]), "".join(code(text) if to else text for text, to in one["spoken"])
         .replace("'", "`"), one["text"]]
        for one in members(api(), schema)
    ]  # fmt: skip
    yield table(["member", "type", "meaning"], rows)
    hooks = [whose for kind, whose in HOOKS.items() if name in event_names.OWN[kind]]
    yield f"A hook of {' or '.join(hooks)} can have it."
    if operations:
        links = [f"[{one}](operations.md#{one.replace('/', '-')})" for one in operations]
        yield f"Published by {', '.join(links)}."
    assert name in EVENTS
