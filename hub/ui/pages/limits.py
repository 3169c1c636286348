"""Interaction limits in force, with their ends."""

from typing import Any

from hub.api.repositories.interaction_limits import OF_REPO
from hub.settings import HubSettings
from hub.ui.lists import filters, views
from hub.ui.lists.frame import filter_values
from hub.ui.section import ROOT, Section
from hub.ui.view_context import ViewContext
from hub.ui.viewer import DashboardViewer
from store.database.list_order import Matches
from store.repositories import interaction_limits


def _offered(settings: HubSettings, viewer: DashboardViewer) -> bool:
    return viewer.is_covered(OF_REPO)


ui = Section("Limits", "/limits", "user", _offered, second=True)

PATH = f"{ROOT}/limits"
LONGEST = 200

MOST = 200
WHO = {
    "existing_users": "accounts younger than a day",
    "contributors_only": "users who have not contributed before",
    "collaborators_only": "everybody but collaborators",
}
"""The users that each kind of limit excludes."""


@ui.page("/limits", "limits.html")
def list_limits(ctx: ViewContext) -> dict[str, Any]:
    """List the limits in force that match the query, the first to end first."""
    ctx.viewer.check_token(OF_REPO)
    asked = filters.period(ctx)
    chosen = {"name": ctx.asked("name", LONGEST), **asked.chosen}
    rows = interaction_limits.ending_next(
        ctx.db,
        MOST,
        ctx.repositories(OF_REPO),
        text=chosen["name"],
        times=asked.times,
    )
    return {
        **filter_values(chosen, asked),
        "views": views.of_list(ctx, PATH, chosen),
        "matches": Matches(len(rows), more=len(rows) == MOST),
        "limits": [
            {**row, "keeps_out": WHO[row["allowed"]], "left": _left(ctx, row)} for row in rows
        ],
        "most": MOST,
        "root": ctx.services.urls.root,
    }


def _left(ctx: ViewContext, row: dict[str, Any]) -> float:
    """Return the share of its time that is left, in percent."""
    whole = max(row["expires_at"] - row["created_at"], 1)
    return float(round(min(100.0, 100 * (row["expires_at"] - ctx.now) / whole), 1))
