"""The new part of a feed: known entries are cut out, and every other byte stays."""

import re
from xml.parsers import expat

ATOM = "http://www.w3.org/2005/Atom"
# The name of entries by the names of the elements around them, outermost first, with namespaces.
ENTRIES = {
    (f"{ATOM} feed",): f"{ATOM} entry",
    ("rss", "channel"): "item",
}
AROUND = max(map(len, ENTRIES))
MOST_DEPTH = 100
NAME = re.compile(rb"<([^\s/>]+)")


class _NotAFeed(Exception):
    """The document is not a feed that can be cut."""


class _Cutter:
    """A parser that finds where the entries of a feed begin and end."""

    def __init__(self, document: bytes) -> None:
        self._document = document
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._open: list[str] = []
        self._starts: list[int] = []
        self.found: list[tuple[int, int]] = []

    def run(self) -> None:
        self._parser.Parse(self._document, True)

    def _refuse(self, *declared: object) -> None:
        # Entities can expand a small document to a very large one, and no feed needs them.
        raise _NotAFeed

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        if self._is_entry(name):
            self._starts.append(self._parser.CurrentByteIndex)
        self._open.append(name)
        if len(self._open) > MOST_DEPTH:
            raise _NotAFeed

    def _end(self, name: str) -> None:
        self._open.pop()
        if self._is_entry(name):
            start = self._starts.pop()
            self.found.append((start, self._after(start, self._parser.CurrentByteIndex)))

    def _is_entry(self, name: str) -> bool:
        return len(self._open) <= AROUND and ENTRIES.get(tuple(self._open)) == name

    def _after(self, start: int, at: int) -> int:
        """Return where an entry ends. The parser reported its end at `at`."""
        named = NAME.match(self._document, start)
        if named is None:
            raise _NotAFeed
        # If an entry is a single empty tag, the parser reports its end behind the tag.
        if not self._document.startswith(b"</" + named[1], at):
            return at
        return self._document.index(b">", at) + 1


def find_entries(document: bytes) -> list[tuple[int, int]] | None:
    """Return where the entries of an Atom or RSS 2.0 feed are. Return None for other documents."""
    # The parser's positions are in bytes. They are wrong in encodings with NULs, such as UTF-16.
    if b"\0" in document[:4] or document.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    cutter = _Cutter(document)
    try:
        cutter.run()
    except (expat.ExpatError, _NotAFeed, ValueError):
        return None
    return cutter.found


def remove_known_entries(document: bytes, before: bytes | None) -> bytes | None:
    """Return a feed without the entries that are in `before` too, byte for byte.

    Return None if there are none of these, or if the document is no feed.
    """
    known = None if before is None else find_entries(before)
    found = find_entries(document) if known else None
    if not known or not found or before is None:
        return None
    seen = {before[start:end] for start, end in known}
    kept, at = [], 0
    for start, end in found:
        if document[start:end] in seen:
            kept.append(document[at:start])
            at = end
    return b"".join([*kept, document[at:]]) if kept else None
