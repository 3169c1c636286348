"""Conversion of the manual's Markdown to tokens, to HTML, and to the sections of the search."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MARKS = re.compile(r"[^\w\- ]")
ATTRIBUTES = {
    **{f"h{level}": {"id"} for level in range(1, 7)},
    "a": {"href", "title", "class", "aria-label", "id"},
    "code": {"class"},
    "div": {"class", "tabindex", "role", "aria-label"},
    "img": {"src", "alt", "title", "width", "height", "loading"},
    "td": {"class"},
    "th": {"class", "scope"},
}
SCHEMES = {"http", "https", "mailto"}


@dataclass(frozen=True, slots=True)
class ManualSection:
    """A heading with the text below it, up to the next heading."""

    level: int
    title: str
    anchor: str
    text: str


@cache
def _parser() -> "MarkdownIt":
    # Imported here, so that daemons start faster: few of them show the manual.
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def slug(heading: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    return MARKS.sub("", heading.strip().lower()).replace(" ", "-")


def parse(source: str) -> "list[Token]":
    """Parse a page. Each heading has its anchor as the attribute `id`."""
    tokens = _parser().parse(source)
    seen: dict[str, int] = {}
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            base = slug(_text(tokens[at + 1]))
            times = seen[base] = seen.get(base, -1) + 1
            token.attrSet("id", f"{base}-{times}" if times else base)
    return tokens


def sections(tokens: "Sequence[Token]") -> Iterator[ManualSection]:
    """Yield the sections of a page, in order."""
    head: tuple[int, str, str] | None = None
    texts: list[str] = []
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            if head is not None:
                yield ManualSection(*head, " ".join(texts))
            head = int(token.tag[1]), _text(tokens[at + 1]), str(token.attrGet("id"))
            texts = []
        elif token.type == "fence" or (token.type == "inline" and not _heads(tokens, at)):
            texts.append(_text(token))
    if head is not None:
        yield ManualSection(*head, " ".join(texts))


def to_html(tokens: "Sequence[Token]") -> str:
    """Return the HTML of a page, without scripts."""
    import nh3
    from markdown_it.renderer import RendererHTML

    parser = _parser()
    renderer = parser.renderer
    assert isinstance(renderer, RendererHTML)
    made = renderer.render(_decorated(tokens), parser.options, {})
    return nh3.clean(made, attributes=ATTRIBUTES, url_schemes=SCHEMES, link_rel=None)


def _decorated(tokens: "Sequence[Token]") -> "list[Token]":
    """Add a link to each heading, and a frame that scrolls around each table."""
    import nh3

    found: list[Token] = []
    anchor, name = "", ""
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            anchor, name = str(token.attrGet("id")), _text(tokens[at + 1])
        if token.type == "heading_close" and token.tag != "h1":
            found.append(_html(_anchor_link(anchor, name)))
        if token.type == "table_open":
            label = nh3.clean_text(f"Table: {name}")
            found.append(
                _html(f'<div class="wide" tabindex="0" role="region" aria-label="{label}">')
            )
        if token.attrGet("style") == "text-align:right":
            token.attrs = {"class": "number"}  # the content security policy forbids inline styles
        found.append(token)
        if token.type == "table_close":
            found.append(_html("</div>"))
    return found


def _anchor_link(anchor: str, name: str) -> str:
    import nh3

    label = nh3.clean_text(f"Link to {name}")
    return f' <a class="anchor" href="#{anchor}" aria-label="{label}">#</a>'


def _html(content: str) -> "Token":
    from markdown_it.token import Token

    return Token("html_block", "", 0, content=content)


def _heads(tokens: "Sequence[Token]", at: int) -> bool:
    return at > 0 and tokens[at - 1].type == "heading_open"


def _text(token: "Token") -> str:
    """Return the text of a token, without markup."""
    if not token.children:
        return token.content
    return "".join(
        " " if one.type in ("softbreak", "hardbreak") else _text(one) for one in token.children
    )
