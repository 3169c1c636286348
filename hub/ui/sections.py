"""Every section of the dashboard, in the order of its menu."""

from hub.ui import deliveries, delivery, hook, hooks, links, overview, signing_in
from hub.ui.section import Section

SECTIONS: tuple[Section, ...] = (
    overview.ui,
    hooks.ui,
    hook.ui,
    deliveries.ui,
    delivery.ui,
    links.ui,
    signing_in.ui,
)
