"""The results of a search for an id or for a part of a name, as far as the viewer may see them."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from hub.ui import status_text
from hub.ui.formatting import masked
from hub.ui.lists import filters
from hub.ui.section import ROOT
from hub.ui.view_context import ViewContext, natural
from store import Row
from store.delivery import attempt_feed, event_lookup
from store.hooks import hook_queries
from store.monitoring import name_search
from store.repositories import repositories

# The most repositories, and the most endpoints, that are listed.
LISTED = 10


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Something that was found: its kind, its name, and the path of its page."""

    kind: str
    name: str
    to: str
    at: int | None = None
    """When it came, in microseconds, or None if that says nothing."""


def of_id(ctx: ViewContext, text: str) -> list[SearchResult]:
    """Return the events, the delivery, the attempt and the hook with this id."""
    number = natural(text)
    ids = event_lookup.of_guid(ctx.db, text, ctx.repositories(), ctx.owners_of_deliveries())
    found = [_event(row) for row in _events(ctx, ids)]
    return found if number is None else [*found, *_numbered(ctx, number)]


def of_name(ctx: ViewContext, text: str) -> list[SearchResult]:
    """Return repositories whose name contains a text, and hooks whose URL does."""
    repo_ids, org_ids = ctx.repositories(), filters.organizations(ctx)
    named = name_search.repositories(ctx.db, text, repo_ids)[:LISTED]
    rows = hook_queries.by_ids(ctx.db, name_search.hooks(ctx.db, text, repo_ids, org_ids)[:LISTED])
    return [*_repositories(ctx, named), *(_hook(row) for row in rows if _opens(ctx, row))]


def _opens(ctx: ViewContext, hook: Row) -> bool:
    return ctx.viewer.opens(hook["id"], hook["org_id"], int(hook["deleted_at"] is not None))


def _numbered(ctx: ViewContext, number: int) -> Iterator[SearchResult]:
    event_id = event_lookup.of_delivery(ctx.db, number, ctx.owners_of_deliveries())
    for row in _events(ctx, [number] if event_id is None else [number, event_id]):
        if row["id"] == event_id:
            yield _event(row, delivery=number)
        if row["id"] == number:
            yield _event(row)
    origin = attempt_feed.origin_of(ctx.db, number)
    tried = 0 if origin is None else origin["hook_id"]
    for row in hook_queries.by_ids(ctx.db, ctx.viewer.visible(ctx.db, [number, tried])):
        if row["id"] == tried:
            yield SearchResult(f"Attempt {number}", masked(row["url"]), _attempt(number))
        if row["id"] == number:
            yield _hook(row)


def _attempt(number: int) -> str:
    return f"{ROOT}/deliveries/{number}"


def _events(ctx: ViewContext, event_ids: list[int]) -> list[Row]:
    return [row for row in event_lookup.places(ctx.db, event_ids) if ctx.may_see_event(row)]


def _event(row: Row, delivery: int | None = None) -> SearchResult:
    named = status_text.event_name(row["name"], row["action"])
    name = f"{named} in {row['repository']}" if row["repository"] else named
    place = f"{ROOT}/events/{row['id']}"
    if delivery is None:
        return SearchResult(f"Event {row['id']}", name, place, row["received_at"])
    marked = f"{place}?delivery={delivery}#delivery-{delivery}"
    return SearchResult(f"Delivery {delivery}", name, marked, row["received_at"])


def _hook(row: Row) -> SearchResult:
    return SearchResult(f"Hook {row['id']}", masked(row["url"]), f"{ROOT}/hooks/{row['id']}")


def _repositories(ctx: ViewContext, repo_ids: list[int]) -> Iterator[SearchResult]:
    for row in repositories.of(ctx.db, repo_ids).values():
        query = urlencode({"repository": row["full_name"]})
        yield SearchResult("Events of", row["full_name"], f"{ROOT}/events?{query}")
        yield SearchResult("Hooks of", row["full_name"], f"{ROOT}/hooks?{query}")
