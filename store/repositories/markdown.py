"""Markdown as HTML that is safe to show, and as plain text. It takes its time: not in a
transaction.
"""

import html
import re
from dataclasses import dataclass, field

import nh3
from markdown_it import MarkdownIt

LARGEST = 512 * 1024
"""Characters of HTML. A table can make much of little: what would be larger is shown as written."""

_markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])


@dataclass(slots=True)
class Rendered:
    """A text in Markdown in all its forms, before it is stored."""

    source: str
    html: str = field(init=False)
    """Sanitised: nothing in it runs, whoever wrote it."""
    text: str = field(init=False)
    """What a reader would see, without any markup."""

    def __post_init__(self) -> None:
        self.html = to_html(self.source)
        self.text = to_text(self.html)


def to_html(source: str) -> str:
    """Sanitised HTML."""
    made = _markdown.render(source.replace("\0", ""))
    if len(made) > LARGEST:
        made = f"<pre>{html.escape(source[: LARGEST // 8])}</pre>"
    return nh3.clean(made)


def to_text(shown: str) -> str:
    """The text in this HTML."""
    plain = html.unescape(nh3.clean(shown, tags=set()))
    return re.sub(r"\n{3,}", "\n\n", plain).strip()
