"""The list of hooks with their health."""

from typing import Any
from urllib.parse import urlencode

from hub.ui import status_text
from hub.ui.section import ROOT, Section
from hub.ui.view_context import ViewContext
from store.errors import Missing
from store.hooks import hook_health
from store.monitoring import name_search
from store.repositories import repositories

ui = Section("Hooks", "/hooks")

PAGE = 50
UNHEALTHY = ("disabled", "open", "bad", "warn")
WORST_FIRST = "unhealthy"
"""The state that lists all hooks that do not deliver, and not the newest first."""


@ui.page("/hooks", "hooks.html")
def list_hooks(look: ViewContext) -> dict[str, Any]:
    """List the hooks, newest first, filtered by state and repository."""
    state, named, url = look.asked("state"), look.asked("repository"), look.asked("url")
    repo_ids = within(look, named)
    org_ids = [] if named or repo_ids is None else look.organizations()
    ids = name_search.hooks(look.db, url, repo_ids, org_ids) if url else None
    before = look.asked_number("before")
    if state == WORST_FIRST:
        # In this order, a page begins after a number of hooks and not after an id.
        rows = hook_health.unhealthy(look.db, repo_ids, PAGE + 1, before or 0, ids, org_ids)
        last = (before or 0) + PAGE
    else:
        rows = hook_health.page(
            look.db,
            repo_ids,
            limit=PAGE + 1,
            before=before,
            state=state,
            hook_ids=ids,
            org_ids=org_ids,
        )
        last = rows[PAGE - 1]["id"] if len(rows) > PAGE else 0
    chosen = {"state": state, "repository": named, "url": url}
    return {
        "hooks": [hook_row(row, look.now) for row in rows[:PAGE]],
        "states": [WORST_FIRST, *hook_health.STATES],
        "chosen": chosen,
        "order": "worst first" if state == WORST_FIRST else "newest first",
        "older": older(f"{ROOT}/hooks", chosen, last if len(rows) > PAGE else None),
        "newest": f"{ROOT}/hooks?{query(chosen)}" if look.asked("before") else "",
    }


def within(look: ViewContext, named: str) -> list[int] | None:
    """Return the ids of the viewer's repositories: of the one named owner/name, or of those whose
    name contains the text.

    None means all repositories.
    """
    mine = look.repositories()
    if not named:
        return mine
    owner, _, name = named.partition("/")
    repo = repositories.find(look.db, owner, name)
    if repo is not None and (mine is None or repo["id"] in mine):
        return [repo["id"]]
    return name_search.repositories(look.db, named, mine)


def query(chosen: dict[str, str]) -> str:
    """Return the query string of the chosen filters."""
    return urlencode({name: value for name, value in chosen.items() if value})


def older(path: str, chosen: dict[str, str], before: int | None) -> str:
    """Return the URL of the next page; empty if there is none."""
    return "" if before is None else f"{path}?{query({**chosen, 'before': str(before)})}"


def hook_row(hook: dict[str, Any], now: int) -> dict[str, Any]:
    """Return a hook's values for the template."""
    attempts = hook["recent"]
    last = attempts[0] if attempts else None
    health = status_text.health(hook, now)
    resting = hook["resting_until"] if health[0] == "open" else None
    next_at = hook["next_at"]
    return {
        **hook,
        "health": health,
        "reason": status_text.reason(hook) if health[0] in UNHEALTHY else "",
        "resting_until": resting,
        "tried_at": next_at and status_text.tried_at({**hook, "due_at": next_at}, now),
        "strip": [status_text.took(one) for one in reversed(attempts)],
        "taken": sum(status_text.took(one) for one in attempts),
        "last": last and {**last, "outcome": status_text.outcome(last)},
    }


def healthy_or_missing(look: ViewContext, hook_id: int) -> dict[str, Any]:
    """Return a hook with its health. Raises Missing if it does not exist."""
    hook = hook_health.get(look.db, hook_id)
    if hook is None:
        raise Missing("hook")
    return hook_row(hook, look.now)
