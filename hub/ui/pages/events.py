"""Accepted events: their origins, payloads and deliveries, and events without subscribers."""

from dataclasses import replace
from typing import Any

from hub.ui import status_text
from hub.ui.lists import filters, paging
from hub.ui.lists.frame import frame
from hub.ui.lists.sorting import Sorting
from hub.ui.pages.delivery import readable
from hub.ui.section import ROOT, Section
from hub.ui.view_context import ViewContext, natural
from store import Row
from store.database.list_order import Matches
from store.delivery import event_lookup, event_queries, events
from store.delivery.event_queries import COUNTED
from store.delivery.incoming import (
    EXAMPLE_SOURCE,
    LOCAL_SOURCE,
    REPUBLISHED_SOURCE,
    SHARED_EXAMPLE_SOURCE,
)
from store.delivery.listing import event_page
from store.delivery.listing.event_page import EventFilter
from store.delivery.replays.replay_selection import first_event_since
from store.errors import existing
from store.hooks.event_names import PLATFORM_EVENTS, parse_pattern

ui = Section("Events", "/events")

PATH = f"{ROOT}/events"
SORTING = Sorting("-received", received=True, event=False, size=True)
PAGE = 50
# The limits of an event's deliveries and of its payload that are shown.
DELIVERIES, MOST_READ = 100, 4 * 1024 * 1024


@ui.page("/events", "events.html")
def list_events(ctx: ViewContext) -> dict[str, Any]:
    """List the events that match the query, newest first or in the chosen order."""
    asked = filters.period(ctx)
    chosen = {
        "repository": ctx.asked("repository"),
        "event": ctx.asked("event", 100),
        "hook": ctx.asked("hook"),
        "wanted": "nobody" if ctx.asked("wanted") == "nobody" else "",
        "guid": ctx.asked("guid", 128),
        **asked.chosen,
    }
    wanted = _filter(ctx, chosen, asked)
    sort = SORTING.asked(ctx)
    rows, values = _sorted(ctx, wanted, chosen, sort) if sort else _newest(ctx, wanted, chosen)
    first = not (ctx.asked_number("before") or paging.skipped(ctx))
    return {
        **frame(ctx, PATH, SORTING, chosen, asked),
        "examined": 0,
        "looked": 0,
        **values,
        "events": [event_row(row) for row in rows],
        "marked": natural(chosen["guid"]),
        "names": sorted(PLATFORM_EVENTS),
        "newest": "" if first else paging.first(PATH, {**chosen, "sort": sort}),
        "counted": COUNTED,
    }


def _filter(ctx: ViewContext, chosen: dict[str, str], asked: filters.Period) -> EventFilter:
    name, pattern = parse_pattern(chosen["event"])
    guid = chosen["guid"]
    repo_ids, hidden = filters.scope(ctx, chosen["repository"])
    org_ids = filters.organizations(ctx, chosen["repository"])
    counted = ctx.owners_of_deliveries()
    return EventFilter(
        None if asked.until is None else first_event_since(ctx.db, asked.until),
        name,
        repo_ids,
        unwanted=bool(chosen["wanted"]),
        pattern=pattern,
        first=0 if asked.since is None else first_event_since(ctx.db, asked.since),
        hook_ids=filters.hook_ids(ctx, chosen["hook"], repo_ids, org_ids),
        hidden_owners=hidden,
        org_ids=counted,
        ids=event_lookup.of_any(ctx.db, guid, natural(guid), ctx.repositories(), counted)
        if guid
        else None,
    )


def _newest(
    ctx: ViewContext, wanted: EventFilter, chosen: dict[str, str]
) -> tuple[list[Row], dict[str, Any]]:
    """Return a page of events, newest first, and the values about it."""
    before = ctx.asked_number("before")
    matches: Matches | None
    if before:
        rows, last = event_page.page(ctx.db, _until(wanted, before), PAGE)
        # An empty page shows no number of matches, and a count that examines each event takes long.
        matches = event_page.count(ctx.db, wanted) if rows else None
    else:
        rows, last, matches = event_page.first_page(ctx.db, wanted, PAGE)
    # A short page with an older page behind it means that the search stopped at its limit.
    looked = wanted.looked if last is not None and len(rows) < PAGE else 0
    older = paging.older(PATH, chosen, last)
    return rows, {"looked": looked, "older": older, "matches": matches}


def _sorted(
    ctx: ViewContext, wanted: EventFilter, chosen: dict[str, str], sort: str
) -> tuple[list[Row], dict[str, Any]]:
    """Return a page of events in the chosen order, and the values about it."""
    skip = paging.skipped(ctx)
    # Without this limit, events after the first page was shown would move the others.
    upto = ctx.asked_number("upto") or event_page.latest(ctx.db)
    found = event_page.sorted_page(
        ctx.db, _until(wanted, upto + 1), SORTING.order(sort), limit=PAGE, skip=skip
    )
    asked = {**chosen, "sort": sort, "upto": str(upto)}
    following = paging.following(PATH, asked, skip + PAGE, more=found.more)
    matches = event_page.count(ctx.db, wanted)
    return found.rows, {"examined": found.examined, "older": following, "matches": matches}


def _until(wanted: EventFilter, before: int | None) -> EventFilter:
    limits = (at for at in (before, wanted.before) if at is not None)
    return replace(wanted, before=min(limits, default=None))


def event_row(event: Row) -> dict[str, Any]:
    """Return an event's values for the template."""
    return {
        **event,
        "named": status_text.event_name(event["name"], event["action"]),
        "came": _came(event),
    }


def _came(event: Row) -> str:
    """Return the origin of an event in words."""
    if event["source_id"] == LOCAL_SOURCE:
        return "this hub"
    if event["source_id"] == REPUBLISHED_SOURCE:
        return "this hub, republished"
    if event["source_id"] == EXAMPLE_SOURCE:
        return "an example, sent to one hook"
    if event["source_id"] == SHARED_EXAMPLE_SOURCE:
        return "an example"
    if event["source_id"] == 0:
        return status_text.posted_by(event)
    return f"the source {event['source'] or event['source_id']}"


@ui.page("/events/{event_id}", "event.html")
def show_event(ctx: ViewContext) -> dict[str, Any]:
    """Show an event with its payload and its deliveries."""
    event = existing(event_queries.get(ctx.db, ctx.number("event_id")), "event")
    ctx.check_event(event)
    marked = ctx.asked_number("delivery")
    found = _deliveries(ctx, event["id"], marked)
    return {
        "event": event_row(event),
        "payload": _payload(ctx, event),
        "deliveries": [status_text.with_state(row, ctx.now) for row in found],
        "marked": marked,
        "most": DELIVERIES,
        "counted": COUNTED,
    }


def _deliveries(ctx: ViewContext, event_id: int, marked: int | None) -> list[Row]:
    """Return the newest deliveries of an event, and the marked one even if it is older."""
    org_ids = ctx.owners_of_deliveries()
    found = event_queries.deliveries_of(ctx.db, event_id, DELIVERIES, org_ids)
    if marked is None or any(row["id"] == marked for row in found):
        return found
    return [*found, *event_queries.delivery_of(ctx.db, event_id, marked, org_ids)]


def _payload(ctx: ViewContext, event: Row) -> dict[str, Any] | None:
    """Return an event's payload as text; None if it has been deleted or is too large to show."""
    if not event["kept"] or event["size"] > MOST_READ:
        return None
    row = events.get(ctx.db, event["id"])
    return None if row is None else readable(row["body"])
