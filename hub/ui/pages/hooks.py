"""The list of hooks with their health."""

from typing import Any
from urllib.parse import urlencode

from hub.ui import status_text
from hub.ui.section import ROOT, Section
from hub.ui.view_context import ViewContext
from store.delivery import hook_health
from store.errors import Missing
from store.repositories import repositories

ui = Section("Hooks", "/hooks")

PAGE = 50


@ui.page("/hooks", "hooks.html")
def list_hooks(look: ViewContext) -> dict[str, Any]:
    """List the hooks, newest first, filtered by state and repository."""
    state, named = look.asked("state"), look.asked("repository")
    repo_ids = within(look, named)
    rows = hook_health.page(
        look.db, repo_ids, limit=PAGE + 1, before=look.asked_number("before"), state=state
    )
    chosen = {"state": state, "repository": named}
    return {
        "hooks": [hook_row(row, look.now) for row in rows[:PAGE]],
        "states": list(hook_health.STATES),
        "chosen": chosen,
        "older": older(f"{ROOT}/hooks", chosen, rows[PAGE - 1]["id"] if len(rows) > PAGE else None),
        "newest": f"{ROOT}/hooks?{query(chosen)}" if look.asked("before") else "",
    }


def within(look: ViewContext, named: str) -> list[int] | None:
    """Return the ids of the viewer's repositories, or only of the one named owner/name.

    None means all repositories.
    """
    mine = look.viewer.repositories(look.db)
    if not named:
        return mine
    owner, _, name = named.partition("/")
    repo = repositories.find(look.db, owner, name)
    if repo is None or (mine is not None and repo["id"] not in mine):
        return []
    return [repo["id"]]


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
    return {
        **hook,
        "health": status_text.health(hook, now),
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
