"""Examples of events: the latest stored payload, or one that is made from what is known."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import orjson
from pydantic import TypeAdapter

from hub.openapi import examples
from hub.operations import EVENTS, OPERATIONS
from hub.rest import event_payloads
from hub.ui.view_context import ViewContext
from store import Row
from store.delivery import event_queries, events

# A larger payload is not read, neither as an example nor for its members.
MOST_READ = 256 * 1024
COMMIT = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
BEFORE = "b0c1d2e3f4a5968778695a4b3c2d1e0f01234567"
ISSUE = {"id": 1, "number": 1, "title": "The bell does not ring", "state": "open", "body": ""}
# Members beside `action`, `repository` and `sender`, for names that many receivers know.
MEMBERS: dict[str, dict[str, Any]] = {
    "push": {
        "ref": "refs/heads/main",
        "before": BEFORE,
        "after": COMMIT,
        "created": False,
        "deleted": False,
        "forced": False,
        "commits": [{"id": COMMIT, "message": "Ring the bell", "added": [], "modified": []}],
    },
    "create": {"ref": "v1.0", "ref_type": "tag"},
    "delete": {"ref": "old-branch", "ref_type": "branch"},
    "issues": {"issue": ISSUE},
    "issue_comment": {"issue": ISSUE, "comment": {"id": 1, "body": "I hear it."}},
    "pull_request": {
        "number": 2,
        "pull_request": {"id": 2, "number": 2, "title": "Ring twice", "state": "open"},
    },
    "release": {"release": {"id": 1, "tag_name": "v1.0", "name": "1.0", "draft": False}},
    "ping": {"zen": "A bell that is heard needs to ring once."},
}
ACTIONS = {"release": "published", "star": "created", "watch": "started", "label": "created"}


@dataclass(frozen=True, slots=True)
class EventExample:
    """A payload, its action, and where it is from."""

    body: bytes = field(repr=False)
    action: str | None
    origin: str


def example_of(ctx: ViewContext, repo: Row | None, name: str) -> EventExample:
    """Return an example of the event for a repository, or for none.

    It is the repository's latest payload of this name if that is stored and not too large.
    Otherwise it is made up.
    """
    latest = None if repo is None else event_queries.latest(ctx.db, repo["id"], name)
    stored = None if latest is None else stored_example(ctx, latest["id"])
    return stored or _made(ctx, repo, name)


def stored_example(ctx: ViewContext, event_id: int) -> EventExample | None:
    """Return the payload of an event; None if it has been deleted or is too large."""
    row = events.get(ctx.db, event_id)
    if row is None or row["body"] is None or row["size"] > MOST_READ:
        return None
    return EventExample(row["body"], row["action"], f"event {event_id}")


def _made(ctx: ViewContext, repo: Row | None, name: str) -> EventExample:
    return EventExample(orjson.dumps(made_up(ctx, name, repo)), action_of(name), "made up")


def made_up(ctx: ViewContext, name: str, repo: Row | None = None) -> dict[str, Any]:
    """Return a made-up payload of the event, with the repository if one is given."""
    action = action_of(name)
    members = _from_schema(name) if name in EVENTS else MEMBERS.get(name, {})
    payload = {"action": action, **members} if action else dict(members)
    caller = ctx.viewer.caller
    payload |= {"sender": {"login": caller.login if caller else "ghost", "type": "User"}}
    context = ctx.context()
    ((_, content),) = event_payloads.payloads(
        context.urls, context.words, ctx.db, [(repo, payload)]
    )
    return content


def action_of(name: str) -> str | None:
    """Return one of the event's actions, or None: one that the hub publishes, or one of ACTIONS."""
    published = sorted(actions_of(name))
    return published[0] if published else ACTIONS.get(name)


@cache
def actions_of(name: str) -> frozenset[str]:
    """Return the actions with which the hub's operations publish the event."""
    emitted = (event.partition(".") for one in OPERATIONS for event in one.emits)
    return frozenset(action for event, _, action in emitted if event == name and action)


@cache
def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON schema of the payload of one of the hub's own events."""
    template = f"{examples.SCHEMAS}{{model}}"
    return TypeAdapter(EVENTS[name]).json_schema(ref_template=template)


def _from_schema(name: str) -> dict[str, Any]:
    schema = schema_of(name)
    document = {"components": {"schemas": schema.get("$defs", {})}}
    found: dict[str, Any] = examples.value(document, schema)
    return {key: value for key, value in found.items() if key not in ("action", "repository")}
