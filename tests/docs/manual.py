"""The pages that people write, and what is in them: prose, links, headings, blocks of code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from plain_english import split

from hub.cli.manual.generate import PAGES

ROOT = Path(__file__).parents[2]
MANUAL = ROOT / "hub" / "docs"
GENERATED = tuple(MANUAL / "reference" / f"{name}.md" for name in PAGES)
README = ROOT / "README.md"
AROUND = (
    README,
    ROOT / "CHANGELOG.md",
    ROOT / ".github" / "CONTRIBUTING.md",
    ROOT / ".github" / "SECURITY.md",
)
ADMIN = "admin"
"""The name of blocks with commands that change a machine. Tests check them, and do not run them."""
PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Block:
    """A block of code. Its info string is a language and, for some, a name."""

    language: str
    name: str
    text: str


def manual_pages() -> list[Path]:
    """The pages of the manual that are written by hand."""
    pages = sorted(MANUAL.rglob("*.md"))
    return [page for page in pages if page not in GENERATED]


def all_pages() -> list[Path]:
    """All pages, generated ones too."""
    return [*written_pages(), *GENERATED]


def written_pages() -> list[Path]:
    """All pages that are written by hand: the files in AROUND and the pages of the manual."""
    return [*AROUND, *manual_pages()]


def named(page: Path) -> str:
    """The name of a page in the tests' names."""
    return str(page.relative_to(ROOT))


@cache
def tokens(page: Path) -> list[Token]:
    """The page as the parser reads it."""
    return PARSER.parse(page.read_text(encoding="utf-8"))


def blocks(page: Path, language: str = "") -> list[Block]:
    """The blocks of code on a page, in their order. If a language is given, only its blocks."""
    made = [_block(token) for token in tokens(page) if token.type == "fence"]
    return [one for one in made if language in ("", one.language)]


def _block(token: Token) -> Block:
    language, _, name = token.info.partition(" ")
    return Block(language, name.strip(), token.content)


def block(page: Path, language: str, name: str) -> str:
    """The text of the one block with this language and name."""
    (found,) = [one.text for one in blocks(page, language) if one.name == name]
    return found


@cache
def headings(page: Path) -> list[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    found = tokens(page)
    titles = [
        _text(found[at + 1]) for at, token in enumerate(found) if token.type == "heading_open"
    ]
    seen: dict[str, int] = {}
    return [_unique(_slug(title), seen) for title in titles]


def _slug(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _unique(slug: str, seen: dict[str, int]) -> str:
    seen[slug] = seen.get(slug, -1) + 1
    return f"{slug}-{seen[slug]}" if seen[slug] else slug


def links(page: Path) -> list[str]:
    """The targets of the links and images of a page."""
    found = []
    for token in tokens(page):
        for child in token.children or ():
            target = child.attrGet("href") or child.attrGet("src")
            if target:
                found.append(str(target))
    return found


def sentences(page: Path) -> list[str]:
    """The sentences of paragraphs and list items, without code blocks, tables and headings."""
    return [one for text in _paragraphs(page) for one in split(text)]


def cells(page: Path) -> list[str]:
    """The sentences in cells of tables."""
    found = tokens(page)
    texts = [
        _text(token)
        for at, token in enumerate(found)
        if token.type == "inline" and found[at - 1].type in ("td_open", "th_open")
    ]
    return [one for text in texts for one in split(text)]


def _paragraphs(page: Path) -> Iterator[str]:
    found = tokens(page)
    for at, token in enumerate(found):
        if token.type == "inline" and found[at - 1].type == "paragraph_open":
            yield _text(token)


def _text(token: Token) -> str:
    """The text that people read. A piece of code counts as one word."""
    parts = []
    for child in token.children or ():
        if child.type == "code_inline":
            parts.append("CODE")
        elif child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif child.type == "text":
            parts.append(child.content)
    return "".join(parts)
