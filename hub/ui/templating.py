"""Rendering of templates. All values are escaped, and a missing value is an error."""

from functools import cache
from typing import TYPE_CHECKING, Any

from hub.ui import formatting
from hub.ui.assets import asset
from hub.ui.section import ROOT
from store.clock import iso

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def _environment() -> "Environment":
    # Not every process shows pages.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("hub.ui", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "number": formatting.number,
        "span": formatting.duration,
        "ago": formatting.ago,
        "moment": formatting.moment,
        "clock": formatting.clock,
        "size": formatting.size,
        "iso": iso,
    }
    made.globals |= {
        "asset": asset,
        "ROOT": ROOT,
        "percent": formatting.percent,
        "many": formatting.pluralize,
        "rate": formatting.rate,
        "min": min,
        "max": max,
    }
    return made


def render(template: str, told: dict[str, Any]) -> str:
    """Render a template with these values to HTML."""
    return _environment().get_template(template).render(told)
