"""The list of delivery attempts, with a live view of new ones."""

from dataclasses import replace
from typing import Any

from hub.ui import status_text
from hub.ui.lists import filters, paging, views
from hub.ui.lists.filters import Period
from hub.ui.lists.frame import filter_values
from hub.ui.lists.paging import older, query
from hub.ui.lists.sorting import Sorting
from hub.ui.section import ROOT, PanelUpdate, Section
from hub.ui.view_context import ViewContext
from store import Row
from store.database.time_range import ALWAYS
from store.delivery import attempt_feed, attempt_text
from store.delivery.attempt_filter import AttemptFilter
from store.delivery.listing import attempt_list
from store.delivery.listing.attempt_following import FeedPosition, advance
from store.hooks.event_names import parse_pattern

ui = Section("Deliveries", "/deliveries")

PATH = f"{ROOT}/deliveries"
SORTING = Sorting("-time", outcome=True, event=False, endpoint=False, duration=True, time=True)
PAGE = 50
AT_ONCE = 50
STATUSES = {"success": "delivered", "failure": "failed"}


@ui.page("/deliveries", "deliveries.html")
def list_deliveries(ctx: ViewContext) -> dict[str, Any]:
    """List the attempts that match the query, newest first or in the chosen order."""
    asked = filters.period(ctx)
    chosen, wanted = _filter(ctx, asked)
    searched = bool(chosen["guid"] or chosen["text"])
    sort = "" if searched else SORTING.asked(ctx)
    rows, values = _sorted(ctx, wanted, chosen, sort) if sort else _newest(ctx, wanted, chosen)
    first = not (ctx.asked_number("before") or paging.skipped(ctx))
    newest = rows[0]["id"] if rows else attempt_feed.latest(ctx.db)
    following = query({**chosen, "after": str(newest)})
    is_live = first and not searched and not sort and asked.until is None
    return {
        "examined": 0,
        "looked": 0,
        **values,
        "attempts": [attempt_row(row, ctx.now) for row in rows],
        **filter_values(chosen, asked),
        "problem": " ".join(filter(None, (asked.problem, _problem(chosen)))),
        "sort": sort,
        "heads": {} if searched else SORTING.heads(sort, PATH, chosen),
        "views": views.of_list(ctx, PATH, {**chosen, "sort": sort}),
        "matches": None if searched else attempt_list.count(ctx.db, wanted),
        "selectable": ctx.viewer.may_change_any,
        "statuses": STATUSES,
        "newest": "" if first else paging.first(PATH, {**chosen, "sort": sort}),
        "live": f"{PATH}/live?{following}" if is_live else "",
        "most": PAGE,
    }


def _newest(
    ctx: ViewContext, wanted: AttemptFilter, chosen: dict[str, str]
) -> tuple[list[Row], dict[str, Any]]:
    """Return a page of attempts, newest first, and the values about it."""
    before = ctx.asked_number("before")
    if chosen["guid"]:
        rows = attempt_feed.list_by_guid(ctx.db, wanted, chosen["guid"], PAGE)
        found = attempt_feed.AttemptPage(rows)
    elif chosen["text"]:
        found = attempt_text.page(ctx.db, wanted, chosen["text"], limit=PAGE, before=before)
    else:
        found = attempt_feed.page(ctx.db, wanted, limit=PAGE, before=before)
    return found.rows, {"looked": found.scanned, "older": older(PATH, chosen, found.older)}


def _sorted(
    ctx: ViewContext, wanted: AttemptFilter, chosen: dict[str, str], sort: str
) -> tuple[list[Row], dict[str, Any]]:
    """Return a page of attempts in the chosen order, and the values about it."""
    skip = paging.skipped(ctx)
    # Without this limit, attempts after the first page was shown would move the others.
    upto = ctx.asked_number("upto") or attempt_feed.latest(ctx.db)
    before = min(upto + 1, wanted.before or upto + 1)
    order = SORTING.order(sort)
    found = attempt_list.sorted_page(
        ctx.db, replace(wanted, before=before), order, limit=PAGE, skip=skip
    )
    asked = {**chosen, "sort": sort, "upto": str(upto)}
    following = paging.following(PATH, asked, skip + PAGE, more=found.more)
    return found.rows, {"examined": found.examined, "older": following}


def _problem(chosen: dict[str, str]) -> str:
    if chosen["code"] and filters.status_codes(chosen["code"]) is None:
        text = f"{chosen['code']!r} is not a status code such as 503, 5xx or none."
        return f"{text} {filters.NOT_LIMITED}"
    if chosen["guid"] and chosen["text"]:
        return "An id and a text are given. Only the id limits the list."
    return ""


def _filter(ctx: ViewContext, asked: Period) -> tuple[dict[str, str], AttemptFilter]:
    chosen = {
        "repository": ctx.asked("repository"),
        "hook": ctx.asked("hook"),
        "event": ctx.asked("event", 100),
        "status": ctx.asked("status") if ctx.asked("status") in STATUSES else "",
        "code": ctx.asked("code", 10).lower(),
        "guid": ctx.asked("guid", 128),
        "text": ctx.asked("text"),
        **asked.chosen,
    }
    repo_ids, hidden = filters.scope(ctx, chosen["repository"])
    org_ids = filters.organizations(ctx, chosen["repository"])
    hook_id, hook_ids = filters.hooks_named(ctx, chosen["hook"], repo_ids, org_ids)
    name, pattern = parse_pattern(chosen["event"])
    return chosen, AttemptFilter(
        # The viewer may see each attempt of the hooks that are named.
        repo_ids if hook_id is None and hook_ids is None else None,
        org_ids,
        hook_id,
        name or "",
        chosen["status"],
        hook_ids,
        pattern,
        filters.status_codes(chosen["code"]),
        *attempt_feed.id_range(ctx.db, asked.times),
        # A range such as the last hour need not be exact, and its attempts are counted by an index.
        times=ALWAYS if asked.chosen["range"] else asked.times,
        events_of=repo_ids if hook_id is not None and chosen["repository"] else None,
        hidden_owners=hidden,
    )


@ui.live("/deliveries/live")
def follow_deliveries(ctx: ViewContext, state: Any) -> tuple[Any, list[PanelUpdate]]:
    """Stream new attempts that match the query."""
    if state is not None and attempt_feed.latest(ctx.db) <= state.after:
        return state, []
    return new_attempts(ctx, _filter(ctx, filters.period(ctx))[1], state)


def new_attempts(
    ctx: ViewContext, wanted: AttemptFilter, state: FeedPosition | None, hook: Row | None = None
) -> tuple[FeedPosition, list[PanelUpdate]]:
    """Return the attempts after `state`; at first those after the attempt's id in the query.

    With a `hook`, they are for its page: their rows have the columns of that page.
    """
    at = state or FeedPosition(ctx.asked_number("after") or 0)
    if attempt_feed.latest(ctx.db) <= at.after:
        return at, []
    rows, following = advance(ctx.db, wanted, at, AT_ONCE)
    values = {
        "attempts": [attempt_row(row, ctx.now) for row in rows],
        "fresh": True,
        "selectable": ctx.viewer.may_change(ctx.db, hook) if hook else ctx.viewer.may_change_any,
        "with_hook": hook is None,
    }
    return following, [PanelUpdate("attempts", "_attempts.html", values)] if rows else []


def attempt_row(attempt: Row, now: int) -> dict[str, Any]:
    """Return an attempt's values for the template."""
    return {
        **attempt,
        "outcome": status_text.outcome(attempt),
        "follows": status_text.follows(attempt),
        "untried": status_text.untried(attempt) if "hook_active" in attempt else "",
        "tried_at": attempt.get("due_at") and status_text.tried_at(attempt, now),
        "named": status_text.event_name(attempt["event"], attempt["action"]),
    }
