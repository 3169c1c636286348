"""One page of the manual."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from hub.manual import markdown
from hub.manual.markdown import ManualSection

if TYPE_CHECKING:
    from markdown_it.token import Token

INDEX = "index"
LOCAL = re.compile(r"^(?!\w+:|//|#)([^#]*)\.md(#.*)?$")


@dataclass
class Page:
    """A page. `name` is its path in the manual without `.md`: `how-to/receive-and-verify`."""

    name: str
    source: str
    _html: dict[str, str] = field(default_factory=dict, repr=False)

    @cached_property
    def tokens(self) -> "Sequence[Token]":
        return markdown.parse(self.source)

    @cached_property
    def sections(self) -> Sequence[ManualSection]:
        return list(markdown.sections(self.tokens))

    @cached_property
    def title(self) -> str:
        """Return the first heading."""
        first = self.source.partition("\n")[0]
        # Lists of pages need only titles. Parsing every page for them takes half a second.
        whole = not first.startswith("# ")
        sections = self.sections if whole else list(markdown.sections(markdown.parse(first)))
        return sections[0].title if sections else self.name

    @property
    def anchors(self) -> set[str]:
        return {one.anchor for one in self.sections}

    def html(self, within: str = "") -> str:
        """Return the HTML.

        `within` is the prefix of relative links to other pages of the same folder.
        """
        if within not in self._html:
            # Relinking changes the tokens, so it gets tokens of its own.
            self._html[within] = markdown.to_html(_relinked(markdown.parse(self.source), within))
        return self._html[within]


def _relinked(tokens: "list[Token]", within: str) -> "list[Token]":
    for token in tokens:
        for child in token.children or []:
            name = {"link_open": "href", "image": "src"}.get(child.type)
            if name is not None:
                child.attrSet(name, served(str(child.attrGet(name)), within))
    return tokens


def served(address: str, within: str = "") -> str:
    """Return the address at which the hub serves the target of a link.

    Pages are served without their `.md`.
    """
    found = LOCAL.match(address)
    if found is not None:
        path = found[1].removesuffix(INDEX) if found[1].endswith(f"/{INDEX}") else found[1]
        return within + ("./" if path == INDEX else path) + (found[2] or "")
    if re.match(r"\w+:|//|#|/", address):
        return address
    return within + address
