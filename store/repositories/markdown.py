"""Markdown rendered as safe HTML and as plain text.

Rendering may take long, so it belongs outside of transactions.
"""

import html
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LARGEST = 512 * 1024
"""The limit of rendered HTML in characters. A table can expand a short text greatly; beyond this
limit, the Markdown source is shown.
"""


@dataclass(slots=True)
class RenderedText:
    """A Markdown text in all its forms, to be stored."""

    source: str
    html: str = field(init=False)
    """Sanitised, so that no script runs."""
    text: str = field(init=False)
    """The plain text, without markup."""

    def __post_init__(self) -> None:
        self.html = to_html(self.source)
        self.text = to_text(self.html)


@cache
def _markdown() -> "MarkdownIt":
    # Imported here, so that only callers that render a text wait for the import.
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def to_html(source: str) -> str:
    """Return sanitised HTML."""
    import nh3

    made = _markdown().render(source.replace("\0", ""))
    if len(made) > LARGEST:
        made = source_as_html(source[: LARGEST // 8])
    return nh3.clean(made)


def source_as_html(source: str) -> str:
    """Return HTML that shows the Markdown source as it is."""
    return f"<pre>{html.escape(source)}</pre>"


def to_text(shown: str) -> str:
    import nh3

    plain = html.unescape(nh3.clean(shown, tags=set()))
    return re.sub(r"\n{3,}", "\n\n", plain).strip()
