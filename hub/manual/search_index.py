"""The index that the browser searches: every section of every page, with its text."""

import re

import orjson

from hub.manual.library import Manual
from hub.manual.page import INDEX

# The characters of drawn diagrams and tables. Nobody searches for them.
DRAWN = re.compile(r"[^\w\s]{3,}|(?<=\s)[|+^-]+(?=\s)")


def search_index(manual: Manual) -> bytes:
    """Return the index as JSON.

    It has pages as `[name, title]` and sections as `[page, title, anchor, text]`.
    """
    order = [entry.name for entry in manual.entries]
    names = [*dict.fromkeys(name for name in order if name in manual.pages)]
    names += [name for name in manual.pages if name not in names and name != INDEX]
    found = [
        [at, "" if one.level == 1 else one.title, one.anchor, _plain(one.text)]
        for at, name in enumerate(names)
        for one in manual.pages[name].sections
    ]
    pages = [[name, manual.pages[name].title] for name in names]
    return orjson.dumps({"pages": pages, "sections": found})


def _plain(text: str) -> str:
    return " ".join(DRAWN.sub(" ", text).split())
