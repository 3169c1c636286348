"""The endpoints below `/docs`: the manual's pages, Markdown, pictures and search index."""

import asyncio
import posixpath
from functools import cache

from hub.http import conditional
from hub.http.accept import Accept
from hub.http.response import HTML, JSON, Header, Response
from hub.http.routing import Routes
from hub.manual.library import SUFFIX, Manual, manual
from hub.manual.page import INDEX, Page
from hub.manual.search_index import search_index
from hub.rest.context import Services
from hub.rest.middleware import wrap
from hub.rest.request import Handler, Request
from hub.ui import assets
from hub.ui.headers import LASTING
from hub.ui.templating import render
from store.errors import Missing

MARKDOWN: Header = (b"content-type", b"text/markdown; charset=utf-8")
# Clients cache these files and revalidate them with each request, so an upgrade shows at once.
KINDS = {"png": b"image/png", "svg": b"image/svg+xml", "webp": b"image/webp"}

NOT_THERE = Page(
    "",
    "# This page is not in the manual\n\n"
    "The address is wrong, or another version of tocsin has this page. "
    "Use the search or the contents to find it.",
)


def add(services: Services, routes: Routes, *, described: bool) -> None:
    """Serve the manual.

    `described` says whether this server also has the reference of the API.
    """
    at = f"{services.urls.prefix}/docs"
    shelf = ManualEndpoints(manual(), dashboard=services.settings.ui, described=described)
    works: dict[str, Handler] = {
        at: shelf.index,
        f"{at}/": shelf.index,
        f"{at}/search.json": shelf.search,
        f"{at}/{{page}}": shelf.page,
        f"{at}/{{folder}}/{{page}}": shelf.page,
    }
    for path, work in works.items():
        routes.add("GET", path, wrap(services, work, door="docs"))
    assets.add(services, routes)


class ManualEndpoints:
    """The handlers of the manual's endpoints."""

    def __init__(self, pages: Manual, *, dashboard: bool, described: bool) -> None:
        self._manual = pages
        self._frame = {"place": "manual", "dashboard": dashboard, "described": described}
        self._search = cache(lambda: search_index(pages))
        self._drawn = cache(self._draw)

    async def index(self, call: Request) -> Response:
        """Return the contents. Relative links depend on whether the path ends with a slash."""
        slash = call.scope["path"].endswith("/")
        return await self._page(call, INDEX, "" if slash else "docs/")

    async def page(self, call: Request) -> Response:
        """Return a page, its Markdown, or a picture. Raise Missing if there is none."""
        folder = call.values.get("folder", "")
        name = f"{folder}/{call.values['page']}" if folder else call.values["page"]
        root = "../" if folder else ""
        if name in self._manual.pages:
            return await self._page(call, name, root)
        if name.endswith(SUFFIX) and name.removesuffix(SUFFIX) in self._manual.pages:
            source = self._manual.pages[name.removesuffix(SUFFIX)].source
            return _kept(call, source.encode(), MARKDOWN)
        kind = KINDS.get(name.rpartition(".")[2])
        content = None if kind is None else await asyncio.to_thread(self._manual.file, name)
        if kind is None or content is None:
            return self._missing(call, root)
        return _kept(call, content, (b"content-type", kind))

    async def search(self, call: Request) -> Response:
        """Return the search index."""
        return _kept(call, await asyncio.to_thread(self._search), JSON)

    def _missing(self, call: Request, root: str) -> Response:
        """Return a page with the contents and the search. For programs, raise Missing."""
        if not Accept(call.accept).explicit("text/html"):
            raise Missing("page")
        return Response(404, self._drawn("", root), [HTML, *LASTING])

    async def _page(self, call: Request, name: str, root: str) -> Response:
        if name not in self._manual.pages:
            raise Missing("page")
        return _kept(call, await asyncio.to_thread(self._drawn, name, root), HTML)

    def _draw(self, name: str, root: str) -> bytes:
        page = self._manual.pages[name] if name else NOT_THERE
        values = {
            "page": page,
            "content": page.html("docs/" if root == "docs/" else ""),
            "contents": self._manual.contents,
            "outline": [one for one in page.sections if one.level == 2],
            "root": root,
            "up": posixpath.join(root, "..") + "/" if root != "docs/" else "",
            **self._frame,
            **self._neighbours(page),
        }
        return render("manual.html", values).encode()

    def _neighbours(self, page: Page) -> dict[str, object]:
        """Return the pages before and after this one, in the order of the contents."""
        entries = self._manual.entries
        at = next((at for at, one in enumerate(entries) if one.name == page.name), None)
        before = entries[at - 1] if at else None
        after = entries[at + 1] if at is not None and at + 1 < len(entries) else None
        if page.name == INDEX and entries:
            after = entries[0]
        return {"before": before, "after": after}


def _kept(call: Request, body: bytes, kind: Header) -> Response:
    answer = Response(200, body, [kind, *LASTING])
    conditional.apply_conditions(answer, call.headers, None)
    return answer
