"""All pages of the manual, in the order of its contents."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable

from hub.manual.page import INDEX, LOCAL, Page

SUFFIX = ".md"


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the contents: a page's name and title, and the text that describes it."""

    name: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the contents: its title, such as `How-to`, and its pages."""

    title: str
    entries: tuple[Entry, ...]


class Manual:
    """The pages in a folder. Its `index.md` holds the contents."""

    def __init__(self, folder: Traversable) -> None:
        self._folder = folder

    @cached_property
    def pages(self) -> dict[str, Page]:
        return {name: Page(name, text) for name, text in sorted(_read(self._folder, ""))}

    @cached_property
    def contents(self) -> tuple[Part, ...]:
        """Return the parts of the contents, as `index.md` lists them."""
        return tuple(_parts(self.pages[INDEX])) if INDEX in self.pages else ()

    @property
    def entries(self) -> list[Entry]:
        """Return every entry of the contents, in order."""
        return [entry for part in self.contents for entry in part.entries]

    @property
    def names(self) -> list[str]:
        """Return the names of all pages except the contents, in the order of the contents."""
        listed = [entry.name for entry in self.entries if entry.name in self.pages]
        return [*dict.fromkeys([*listed, *(name for name in self.pages if name != INDEX)])]

    def file(self, path: str) -> bytes | None:
        """Return a file of the manual that is no page. Return None if there is none."""
        found = self._folder
        for name in path.split("/"):
            if name in ("", ".", "..") or "\\" in name or "\0" in name:
                return None
            found = found / name
        return found.read_bytes() if found.is_file() else None


def _read(folder: Traversable, before: str) -> Iterator[tuple[str, str]]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from _read(one, f"{before}{one.name}/")
        elif one.name.endswith(SUFFIX):
            yield before + one.name.removesuffix(SUFFIX), one.read_text(encoding="utf-8")


def _parts(index: Page) -> Iterator[Part]:
    title, entries, tokens = "", list[Entry](), index.tokens
    for at, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h2":
            if entries:
                yield Part(title, tuple(entries))
            title, entries = tokens[at + 1].content, []
        elif token.type == "list_item_open" and title:
            entry = _entry(tokens[at + 2].content)
            entries += [entry] if entry is not None else []
    if entries:
        yield Part(title, tuple(entries))


def _entry(line: str) -> Entry | None:
    """Return the entry for a line such as `[Title](name.md): text`. Return None for other lines."""
    named, _, rest = line.removeprefix("[").partition("](")
    address, _, text = rest.partition(")")
    found = LOCAL.match(address)
    if found is None:
        return None
    return Entry(posixpath.normpath(found[1]), named, " ".join(text.removeprefix(":").split()))


@cache
def manual() -> Manual:
    """Return the manual of this installation."""
    return Manual(files("hub") / "docs")
