"""Interaction limits: where somebody may do less for a while, and until when."""

from typing import Any

from hub.api.repositories.interaction_limits import OF_REPO
from hub.ui.section import Section
from hub.ui.view_context import ViewContext
from store.repositories import interaction_limits

ui = Section("Limits", "/limits")

MOST = 200
WHO = {
    "existing_users": "accounts younger than a day",
    "contributors_only": "who has not contributed before",
    "collaborators_only": "everybody but collaborators",
}
"""Whom each kind of limit keeps out."""


@ui.page("/limits", "limits.html")
def list_limits(look: ViewContext) -> dict[str, Any]:
    """The limits in force, the first to end first."""
    look.viewer.check_token(OF_REPO)
    repo_ids = look.viewer.repositories(look.db)
    rows = interaction_limits.ending_next(look.db, MOST, repo_ids)
    return {
        "limits": [
            {**row, "keeps_out": WHO[row["allowed"]], "left": _left(look, row)} for row in rows
        ],
        "most": MOST,
        "root": look.house.urls.root,
    }


def _left(look: ViewContext, row: dict[str, Any]) -> float:
    """How much of its time is left, of 100."""
    whole = max(row["expires_at"] - row["created_at"], 1)
    return float(round(min(100.0, 100 * (row["expires_at"] - look.now) / whole), 1))
