"""The overview: how things stand, as far as they are the viewer's."""

from typing import Any

from hub.ui.look import Look
from hub.ui.section import Section

ui = Section("Overview", "", "user")


@ui.page("", "overview.html", standing=True)
def overview(look: Look) -> dict[str, Any]:
    """How things stand."""
    return {}
