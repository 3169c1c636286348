"""Every section of the dashboard, in the order of its menu."""

from hub.ui import overview, signing_in
from hub.ui.section import Section

SECTIONS: tuple[Section, ...] = (overview.ui, signing_in.ui)
