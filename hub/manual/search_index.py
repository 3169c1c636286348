"""The index that the browser searches: every section of every page, with its text."""

import re

import orjson

from hub.manual.library import Manual

# The characters of drawn diagrams and tables. Nobody searches for them.
DRAWN = re.compile(r"[^\w\s]{3,}|(?<=\s)[|+^-]+(?=\s)")


def search_index(manual: Manual) -> bytes:
    """Return the index as JSON.

    It has pages as `[name, title]` and sections as `[page, title, anchor, text]`.
    """
    names = manual.names
    found = [
        [at, "" if one.level == 1 else one.title, one.anchor, _plain(one.text)]
        for at, name in enumerate(names)
        for one in manual.pages[name].sections
    ]
    pages = [[name, manual.pages[name].title] for name in names]
    return orjson.dumps({"pages": pages, "sections": found})


def _plain(text: str) -> str:
    return " ".join(DRAWN.sub(" ", text).split())
