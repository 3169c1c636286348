"""The topics of `tocsin help TOPIC`: the pages of the manual and their sections."""

from collections.abc import Iterator
from dataclasses import dataclass

from hub.cli.console.similar_names import similar_names
from hub.manual.library import Manual
from hub.manual.markdown import slug
from hub.manual.page import Page

# The folder of reference pages. Most of their headings are commands or paths, so they come last.
REFERENCE = "reference/"


@dataclass(frozen=True, slots=True)
class ManualTopic:
    """A page of the manual, or the section of a page below a heading."""

    page: Page
    anchor: str = ""
    title: str = ""

    @property
    def name(self) -> str:
        """Return the name to ask for: the section's anchor, or the page's file name."""
        return self.anchor or self.page.name.rpartition("/")[2]

    @property
    def source(self) -> str:
        """Return the Markdown of the page or the section."""
        if not self.anchor:
            return self.page.source
        tokens = self.page.tokens
        heads = [one for one in tokens if one.type == "heading_open"]
        at = next(at for at, one in enumerate(heads) if one.attrGet("id") == self.anchor)
        after = (one for one in heads[at + 1 :] if one.tag <= heads[at].tag)
        lines, last = self.page.source.splitlines(), next(after, None)
        begin = heads[at].map
        end = None if last is None or last.map is None else last.map[0]
        assert begin is not None
        return "\n".join(lines[begin[0] : end]).rstrip() + "\n"


def pages(manual: Manual) -> list[ManualTopic]:
    """Return a topic for each page, in the order of the contents."""
    found = (manual.pages[name] for name in manual.names)
    return [ManualTopic(page, title=page.title) for page in found]


def headings(manual: Manual) -> Iterator[ManualTopic]:
    """Yield a topic for each heading of each page except the page's title."""
    found = sorted(pages(manual), key=lambda one: one.page.name.startswith(REFERENCE))
    for topic in found:
        for section in topic.page.sections[1:]:
            yield ManualTopic(topic.page, section.anchor, section.title)


def page_named(manual: Manual, wanted: str) -> ManualTopic | None:
    """Return the page with this name or title, or None."""
    asked = slug(wanted)
    for topic in pages(manual):
        if wanted == topic.page.name or asked in (topic.name, slug(topic.title)):
            return topic
    return None


def link_target(manual: Manual, link: str) -> ManualTopic | None:
    """Return the page or the section that a link such as `../install.md#reload` leads to, or None.

    On a terminal the pages show their links like this.
    """
    path, _, anchor = link.partition("#")
    if not path.endswith(".md"):
        return None
    found = page_named(manual, path.removesuffix(".md").rpartition("/")[2])
    if found is None or not anchor:
        return found
    sections = (one for one in headings(manual) if one.page is found.page)
    return next((one for one in sections if one.anchor == anchor), found)


def heading_named(manual: Manual, wanted: str) -> ManualTopic | None:
    """Return the first section with this heading, or None. Reference pages come last."""
    asked = slug(wanted)
    return next((one for one in headings(manual) if asked in (one.anchor, slug(one.title))), None)


def having(manual: Manual, wanted: str) -> list[ManualTopic]:
    """Return the pages whose titles have all these words, or else the sections."""
    words = slug(wanted).split("-")
    for among in (pages(manual), headings(manual)):
        found = [one for one in among if _has(one, words)]
        if found:
            return found
    return []


def mentioning(manual: Manual, wanted: str) -> list[ManualTopic]:
    """Return the sections whose texts have all these words, the ones with most of them first."""
    words, found = slug(wanted).split("-"), list[tuple[bool, int, ManualTopic]]()
    for page in (topic.page for topic in pages(manual)):
        for section in page.sections:
            text = slug(f"{section.title} {section.text}").split("-")
            least = min(sum(one.startswith(word) for one in text) for word in words)
            if least:
                topic = ManualTopic(page, section.anchor, section.title)
                found.append((page.name.startswith(REFERENCE), -least, topic))
    return [topic for *_, topic in sorted(found, key=lambda one: one[:2])]


def _has(topic: ManualTopic, words: list[str]) -> bool:
    text = f"{topic.name} {slug(topic.title)}".replace("-", " ").split()
    return all(any(one.startswith(word) for one in text) for word in words)


def close(manual: Manual, wanted: str, commands: list[str]) -> str:
    """Return the names of pages, sections or commands that are similar to `wanted`, or ""."""
    names = [one.name for one in pages(manual)] + commands
    names += [one.anchor for one in headings(manual)]
    return similar_names(slug(wanted), dict.fromkeys(names))
