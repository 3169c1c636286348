"""Examples of events: the latest stored payload, or one that is made from what is known."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import orjson
from pydantic import TypeAdapter

from hub.api.repositories import stand_ins
from hub.event_examples import examples as event_examples
from hub.openapi import examples
from hub.openapi.document import REF
from hub.operations import EVENTS, OPERATIONS
from hub.rest import event_payloads
from hub.rest.serializers import SimpleUser, simple_users
from hub.rest.urls import Urls
from hub.ui.view_context import ViewContext
from store import Row
from store.delivery import event_queries, events

# A larger payload is not read, neither as an example nor for its members.
MOST_READ = 256 * 1024
# Actions of events that the hub does not publish, or not with the action of the example.
ACTIONS = {
    "issue_comment": "created",
    "issues": "opened",
    "label": "created",
    "pull_request": "opened",
    "release": "published",
    "star": "created",
    "watch": "started",
}
ZEN = "A bell that is heard needs to ring once."


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
    context = ctx.context()
    if name in event_examples.EXAMPLES:
        return _example(ctx, name, repo)
    action = action_of(name)
    members = _from_schema(name) if name in EVENTS else {"zen": ZEN} if name == "ping" else {}
    payload = {**({"action": action} if action else {}), **members, "sender": _sender(ctx)}
    ((_, content),) = event_payloads.payloads(
        context.urls, context.words, ctx.db, [(repo, payload)]
    )
    return content


def _example(ctx: ViewContext, name: str, repo: Row | None) -> dict[str, Any]:
    context, sender = ctx.context(), {**_sender(ctx)}
    urls, words = context.urls, context.words
    if repo is not None:
        return event_examples.of_repository(name, urls, words, ctx.db, repo, sender)
    made = event_examples.payload(name, urls, _unknown_repository(urls), sender)
    del made["repository"]
    return words.payload(made) if words else made


def _unknown_repository(urls: Urls) -> dict[str, Any]:
    owner = stand_ins.account(urls)
    name = f"{owner['login']}/bell-tower"
    return {"id": 0, "full_name": name, "owner": owner, "default_branch": "main"}


def _sender(ctx: ViewContext) -> SimpleUser:
    caller, urls = ctx.viewer.caller, ctx.context().urls
    known = {} if caller is None else simple_users(urls, ctx.db, [caller.account_id])
    return next(iter(known.values()), None) or stand_ins.account(urls)


def action_of(name: str) -> str | None:
    """Return the action of the event's example: in ACTIONS, or one that the hub publishes."""
    return ACTIONS.get(name) or min(actions_of(name), default=None)


@cache
def actions_of(name: str) -> frozenset[str]:
    """Return the actions with which the hub's operations publish the event."""
    emitted = (event.partition(".") for one in OPERATIONS for event in one.emits)
    return frozenset(action for event, _, action in emitted if event == name and action)


@cache
def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON schema of the payload of one of the hub's own events."""
    return TypeAdapter(EVENTS[name]).json_schema(ref_template=REF)


def _from_schema(name: str) -> dict[str, Any]:
    schema = schema_of(name)
    document = {"components": {"schemas": schema.get("$defs", {})}}
    found: dict[str, Any] = examples.value(document, schema)
    return {key: value for key, value in found.items() if key not in ("action", "repository")}
