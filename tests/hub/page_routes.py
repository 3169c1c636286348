"""The dashboard's pages, derived from its routes, so that a test of all pages misses none."""

import re
from collections.abc import Iterable

from hub.ui.site_sections import SECTIONS

PARAMETER = re.compile(r"\{[^}]+\}")


def unvisited(paths: Iterable[str]) -> set[str]:
    """The pages to which none of these paths leads, such as `/ui/hooks/{hook_id}`."""
    pages = {page.path for section in SECTIONS for page in section.pages}
    return pages - {route for path in paths if (route := _route(path, pages)) is not None}


def _route(path: str, pages: Iterable[str]) -> str | None:
    """The page that serves a path: fixed segments take precedence over parameters."""
    bare = path.partition("?")[0]
    matching = [page for page in pages if re.fullmatch(PARAMETER.sub("[^/]+", page), bare)]
    return min(matching, key=lambda page: len(PARAMETER.findall(page)), default=None)
