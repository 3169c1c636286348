"""Deliveries as they are made: a tail that goes on by itself, and the pages behind it."""

from typing import Any

from hub.ui import telling
from hub.ui.hooks import older, query, within
from hub.ui.look import Look, natural
from hub.ui.section import ROOT, Part, Section
from store import Row, attempt_tail
from store.attempt_tail import Wanted

ui = Section("Deliveries", "/deliveries")

PAGE = 50
AT_ONCE = 50
STATUSES = {"success": "delivered", "failure": "failed"}


@ui.page("/deliveries", "deliveries.html")
def list_deliveries(look: Look) -> dict[str, Any]:
    """Attempts, newest first, by what the query asks for."""
    chosen, wanted = _wanted(look)
    before = look.asked_number("before")
    if chosen["guid"]:
        rows = attempt_tail.of_guid(look.db, wanted, chosen["guid"], PAGE)
        found = attempt_tail.Found(rows)
    else:
        found = attempt_tail.page(look.db, wanted, limit=PAGE, before=before)
    newest = found.rows[0]["id"] if found.rows else attempt_tail.latest(look.db)
    following = {**chosen, "after": str(newest)}
    is_live = before is None and not chosen["guid"]
    return {
        "attempts": [shown(row) for row in found.rows],
        "chosen": chosen,
        "statuses": STATUSES,
        "filtered": any(chosen.values()),
        "looked": found.looked,
        "older": older(f"{ROOT}/deliveries", chosen, found.older),
        "newest": f"{ROOT}/deliveries?{query(chosen)}" if before else "",
        "live": f"{ROOT}/deliveries/live?{query(following)}" if is_live else "",
        "most": PAGE,
    }


def _wanted(look: Look) -> tuple[dict[str, str], Wanted]:
    chosen = {
        "repository": look.asked("repository"),
        "hook": look.asked("hook"),
        "event": look.asked("event", 100),
        "status": look.asked("status") if look.asked("status") in STATUSES else "",
        "guid": look.asked("guid", 128),
    }
    repo_ids = within(look, chosen["repository"])
    hook_id = None
    if chosen["hook"]:
        # What is no number is no hook, and nothing is found of it.
        hook_id = natural(chosen["hook"]) or -1
        if repo_ids is not None and hook_id > 0:
            look.viewer.hook(look.db, hook_id)
    return chosen, Wanted(repo_ids, hook_id, chosen["event"], chosen["status"])


@ui.live("/deliveries/live")
def follow_deliveries(look: Look, state: Any) -> tuple[Any, list[Part]]:
    """Attempts as they are made, by what the query asks for."""
    if state is not None and attempt_tail.latest(look.db) <= state:
        return state, []
    return news(look, _wanted(look)[1], state)


def news(look: Look, wanted: Wanted, state: Any) -> tuple[Any, list[Part]]:
    """What was made since `state`, an attempt's id; first since that in the query."""
    after = (look.asked_number("after") or 0) if state is None else state
    newest = attempt_tail.latest(look.db)
    if newest <= after:
        return after, []
    rows = attempt_tail.since(look.db, wanted, after, AT_ONCE)
    told = {
        "attempts": [shown(row) for row in rows],
        "fresh": True,
        "with_hook": not wanted.hook_id,
    }
    return newest, [Part("attempts", "_attempts.html", told)] if rows else []


def shown(attempt: Row) -> dict[str, Any]:
    """An attempt as templates are told of it."""
    return {
        **attempt,
        "outcome": telling.outcome(attempt),
        "follows": telling.follows(attempt),
        "named": attempt["event"] + (f".{attempt['action']}" if attempt["action"] else ""),
    }
