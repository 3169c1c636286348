"""The catalogue of events: meaning, schema, example, subscribers, and how often each came."""

from typing import Any

import orjson

from hub.auth.hook_rights import READ
from hub.operations import EVENTS
from hub.ui.catalog.examples import action_of, actions_of, made_up, schema_of, stored_example
from hub.ui.catalog.meanings import meaning
from hub.ui.catalog.seen_members import SeenMembers, seen_members
from hub.ui.lists import filters
from hub.ui.lists.newest import Keys, ordered
from hub.ui.lists.sorting import Sorting
from hub.ui.pages.delivery import readable
from hub.ui.reference.schema_outline import members
from hub.ui.section import ROOT, Section
from hub.ui.view_context import ViewContext
from store.delivery import event_counts
from store.delivery.event_counts import LOOKED, EventCount
from store.errors import Missing
from store.hook_state import hook_list
from store.hook_state.hook_list import HookFilter
from store.hooks.event_names import HUB_EVENTS, PLATFORM_EVENTS

ui = Section("Catalogue", "/catalogue", second=True)

NONE = EventCount()
# An event's page lists this many of its subscribers, the newest.
LISTED = 10
SORTING = Sorting("-came", event=False, came=True, latest=True, hooks=True)
KEYS: Keys = {
    "event": lambda row: row["name"],
    "came": lambda row: row["count"].many,
    "latest": lambda row: row["count"].latest or 0,
    "hooks": lambda row: row["hooks"],
}


@ui.page("/catalogue", "catalogue.html")
def list_event_kinds(ctx: ViewContext) -> dict[str, Any]:
    """List every event, the most frequent ones first or in the chosen order."""
    repo_ids = ctx.repositories()
    counts = event_counts.by_name(ctx.db, repo_ids)
    hooks = event_counts.subscribers(ctx.db, repo_ids, filters.organizations(ctx))
    rows = [_row(name, counts, hooks) for name in sorted(PLATFORM_EVENTS | HUB_EVENTS)]
    sort = SORTING.asked(ctx)
    return {
        "rows": ordered(rows, KEYS, SORTING.order(sort)),
        "looked": LOOKED,
        "may_open": ctx.viewer.sees_repositories,
        "heads": SORTING.heads(sort, f"{ROOT}/catalogue", {}),
    }


def _row(name: str, counts: dict[str, EventCount], hooks: dict[str, int]) -> dict[str, Any]:
    return {
        "name": name,
        "meaning": meaning(name),
        "own": name in HUB_EVENTS,
        "count": counts.get(name, NONE),
        "hooks": hooks.get(name, 0),
    }


@ui.page("/catalogue/{event}", "catalogue_event.html")
def show_event_kind(ctx: ViewContext) -> dict[str, Any]:
    """Show an event with its schema, an example, and its subscribers."""
    ctx.viewer.check_token(READ)
    name = ctx.values["event"]
    if name not in PLATFORM_EVENTS | HUB_EVENTS:
        raise Missing("event")
    repo_ids = ctx.repositories()
    count = event_counts.by_name(ctx.db, repo_ids, name).get(name, NONE)
    subscribed = HookFilter(repo_ids, filters.organizations(ctx), event=name)
    schema = schema_of(name) if name in EVENTS else None
    document = {"components": {"schemas": {} if schema is None else schema.get("$defs", {})}}
    seen = seen_members(ctx, name) if schema is None else None
    example_id, example = _example(ctx, name, seen, count)
    return {
        "name": name,
        "meaning": meaning(name),
        "own": name in HUB_EVENTS,
        "count": count,
        "hooks": hook_list.page(ctx.db, subscribed, limit=LISTED),
        "matches": hook_list.count(ctx.db, subscribed),
        "looked": LOOKED,
        "actions": sorted(actions_of(name)),
        "action": action_of(name),
        "members": [] if schema is None else members(document, schema),
        "seen": seen,
        "example": readable(example),
        "example_id": example_id,
        "events": f"{ROOT}/events?event={name}",
    }


def _example(
    ctx: ViewContext, name: str, seen: SeenMembers | None, count: EventCount
) -> tuple[int | None, bytes]:
    """Return the id and the payload of the latest real event, or None and a made-up payload."""
    if seen is not None and seen.newest is not None:
        return seen.newest["id"], seen.newest["body"]
    stored = stored_example(ctx, count.real_id) if count.real_id else None
    if stored is not None:
        return count.real_id, stored.body
    return None, orjson.dumps(made_up(ctx, name), option=orjson.OPT_INDENT_2)
