"""The list of hooks with their health, and the state of one hook."""

import hashlib
from typing import Any

from hub.ui import quiet_times, status_text
from hub.ui.lists import filters, paging
from hub.ui.lists.frame import frame
from hub.ui.lists.sorting import Sorting
from hub.ui.section import ROOT, Section
from hub.ui.view_context import ViewContext
from store import Row
from store.audit import audit_search
from store.errors import existing
from store.hook_state import hook_health, hook_list
from store.hook_state.hook_list import HookFilter
from store.hooks import pull_urls
from store.hooks.event_names import PLATFORM_EVENTS

ui = Section("Hooks", "/hooks")

PATH = f"{ROOT}/hooks"
PAGE = 50
# The columns of a hook's row that its page shows beside its actions.
SHOWN = (
    "health", "reason", "strip", "waiting", "tried_at", "resting_until", "failing_since",
    "held_until", "disabled_reason", "pause_reason",
)  # fmt: skip
COLUMNS = {"endpoint": False, "health": False, "created": True}
NEWEST_FIRST, WORST_FIRST = Sorting("-created", **COLUMNS), Sorting("health", **COLUMNS)


@ui.page("/hooks", "hooks.html")
def list_hooks(ctx: ViewContext) -> dict[str, Any]:
    """List the hooks that match the query."""
    asked = filters.period(ctx)
    names = ("state", "repository", "url", "event")
    chosen = {**{name: ctx.asked(name) for name in names}, **asked.chosen}
    wanted = _filter(ctx, chosen, asked)
    sorting = WORST_FIRST if chosen["state"] == hook_list.UNHEALTHY else NEWEST_FIRST
    sort, skip = sorting.asked(ctx), paging.skipped(ctx)
    rows = hook_list.page(ctx.db, wanted, limit=PAGE + 1, order=sorting.order(sort), skip=skip)
    following = {**chosen, "sort": sort, "upto": str(wanted.upto)}
    return {
        **frame(ctx, PATH, sorting, chosen, asked),
        "hooks": [hook_row(row, ctx.now) for row in rows[:PAGE]],
        "states": list(hook_list.STATES),
        "names": sorted(PLATFORM_EVENTS),
        "matches": hook_list.count(ctx.db, wanted),
        "older": paging.following(PATH, following, skip + PAGE, more=len(rows) > PAGE),
        "newest": paging.first(PATH, {**chosen, "sort": sort}) if skip else "",
    }


def _filter(ctx: ViewContext, chosen: dict[str, str], asked: filters.Period) -> HookFilter:
    repo_ids, hidden = filters.scope(ctx, chosen["repository"])
    org_ids = filters.organizations(ctx, chosen["repository"])
    return HookFilter(
        repo_ids,
        org_ids,
        filters.hook_ids(ctx, chosen["url"], repo_ids, org_ids),
        chosen["state"],
        chosen["event"].partition(".")[0],
        asked.since,
        asked.until,
        ctx.asked_number("upto") or hook_list.latest(ctx.db),
        hidden,
    )


def hook_row(hook: dict[str, Any], now: int) -> dict[str, Any]:
    """Return a hook's values for the template."""
    attempts = hook["recent"]
    last = attempts[0] if attempts else None
    row = status_text.with_status(hook, now)
    resting = hook["resting_until"] if row["health"][0] == "open" else None
    next_at = hook["next_at"]
    return {
        **row,
        "resting_until": resting,
        "tried_at": next_at and status_text.tried_at({**hook, "due_at": next_at}, now),
        "strip": [status_text.succeeded(one) for one in reversed(attempts)],
        "successes": sum(status_text.succeeded(one) for one in attempts),
        "last": last and {**last, "outcome": status_text.outcome(last)},
    }


def hook_state(ctx: ViewContext, hook: Row) -> dict[str, Any]:
    """Return the values of a hook's page that change while it is open: its health, its figures and
    the actions on it. Raises Missing if the hook does not exist.
    """
    found = existing(hook_health.get(ctx.db, hook["id"]), "hook")
    row = {**hook, **hook_row(found, ctx.now)}
    may_change = ctx.viewer.may_change(ctx.db, hook)
    return {
        "hook": row,
        "speed": _speed(row["recent"]),
        "may_change": may_change,
        "off_by": _off_by(ctx, hook) if may_change else None,
        "has_push": hook["repo_id"] is not None and bool({"push", "*"} & set(hook["events"])),
        "pulled": pull_urls.is_pull(hook["url"]),
        "quiet_times": quiet_times.CHOICES,
        "now": ctx.now,
    }


def _off_by(ctx: ViewContext, hook: Row) -> str | None:
    found = audit_search.switched_off_by(ctx.db, hook)
    if found is None:
        return None
    # Only operators see the name of the machine, and who has an account on it.
    is_hidden = found["via"] == "command" and not ctx.viewer.operator
    return "a command on the server" if is_hidden else str(found["actor"])


def _speed(attempts: list[Row]) -> tuple[int, int] | None:
    """Return the median and the longest duration of these attempts."""
    took = sorted(one["duration"] for one in attempts)
    return (took[len(took) // 2], took[-1]) if took else None


def marks(state: dict[str, Any]) -> list[str]:
    """Return two marks of a hook's state, for its page and for its live view.

    One changes with the actions that the page offers, and the other with everything that it shows.
    They are digests of what the viewer sees, so they reveal nothing more.
    """
    hook, silence = state["hook"], state["hook"]["silence"]
    actions = [hook["active"], hook["paused_at"], silence and silence["ends_at"]]
    is_held = (hook["held_until"] or 0) > state["now"]
    shown = [*actions, is_held, state["speed"], *(hook[name] for name in SHOWN)]
    return [hashlib.sha256(repr(one).encode()).hexdigest()[:16] for one in (actions, shown)]
