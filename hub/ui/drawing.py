"""From a template and what it is told to HTML. Whatever is told is escaped; what is missing is an
error.
"""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from hub.ui import words
from hub.ui.assets import asset
from hub.ui.section import ROOT
from store.clock import iso


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("hub.ui", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "number": words.number,
        "span": words.span,
        "ago": words.ago,
        "moment": words.moment,
        "clock": words.clock,
        "size": words.size,
        "iso": iso,
    }
    made.globals |= {
        "asset": asset,
        "ROOT": ROOT,
        "percent": words.percent,
        "many": words.many,
        "rate": words.rate,
        "min": min,
        "max": max,
    }
    return made


def draw(template: str, told: dict[str, Any]) -> str:
    """The HTML that a template makes of what it is told."""
    return _environment().get_template(template).render(told)
