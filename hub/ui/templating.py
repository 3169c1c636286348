"""Rendering of templates. All values are escaped, and a missing value is an error."""

import re
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from hub.ui import curl, formatting
from hub.ui.assets import asset, public_asset
from hub.ui.charts.strip import strip_path
from hub.ui.lists.cards import label_rows, label_tables
from hub.ui.section import ROOT
from store.clock import iso

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

CODE = re.compile(r"`([^`]+)`")
# The characters after which a browser may show text in another order than it has.
ORDERING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
PIECE = re.compile(rf"<(textarea|title|option)\b.*?</\1>|<[^>]*>|[{ORDERING}]", re.DOTALL)


def _with_code(text: str) -> "Markup":
    """Return the text of a docstring as HTML, with its `names` as code."""
    from markupsafe import Markup, escape

    return Markup(CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - it is escaped


def _breakable(path: str) -> "Markup":
    """Return a path as HTML that may be broken before each slash, so that its words stay whole."""
    from markupsafe import Markup, escape

    return escape(path[:1]) + escape(path[1:]).replace("/", Markup("<wbr>/"))


def _labelled(rows: str, names: list[str]) -> "Markup":
    """Return rows with the names of columns, for rows that arrive without their table's head."""
    from markupsafe import Markup

    return Markup(label_rows(rows, names))  # noqa: S704 - it is escaped


@cache
def _environment() -> "Environment":
    # Imported here, because not every process shows pages.
    from jinja2 import PackageLoader, StrictUndefined

    from hub.ui.rendering.page_environment import PageEnvironment

    made = PageEnvironment(
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
        "masked": formatting.masked,
        "breakable": _breakable,
        "labelled": _labelled,
        "prose": _with_code,
        "iso": iso,
    }
    made.globals |= {
        "asset": asset,
        "public_asset": public_asset,
        "ROOT": ROOT,
        "percent": formatting.percent,
        "many": formatting.pluralize,
        "rate": formatting.rate,
        "posting": curl.posting,
        "strip_path": strip_path,
        "min": min,
        "max": max,
        "release": version("tocsin"),
    }
    return made


def render(template: str, values: dict[str, Any]) -> str:
    """Render a template with these values to HTML."""
    return _in_order(label_tables(_rendered(template, values)))


def _in_order(html: str) -> str:
    """Return a page in which no text is shown in another order, so that no name reads as another.

    The page's text stays the same, because people copy and submit it.
    """
    if not any(one in html for one in ORDERING):
        return html
    return PIECE.sub(lambda found: _piece_in_order(found[0]), html)


def _piece_in_order(piece: str) -> str:
    if piece.startswith("<title"):
        return re.sub(f"[{ORDERING}]", "\ufffd", piece)
    if piece.startswith("<"):
        return piece
    return f'<bdi dir="ltr" class="ordering" data-name="U+{ord(piece):04X}">{piece}</bdi>'


def render_part(template: str, values: dict[str, Any]) -> "Markup":
    """Render a part of a page with these values, to be shown in another template."""
    from markupsafe import Markup

    return Markup(_rendered(template, values))  # noqa: S704 - the template escapes


def _rendered(template: str, values: dict[str, Any]) -> str:
    return _environment().get_template(template).render(values)
