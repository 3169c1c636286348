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
KINDS = {"png": b"image/png", "svg": b"image/svg+xml", "webp": b"image/webp"}

NOT_THERE = Page(
    "",
    "# This page is not in the manual\n\n"
    "The address is wrong, or another version of tocsin has this page. "
    "Use the search or the contents to find it.",
)


def add(services: Services, routes: Routes, *, has_reference: bool) -> None:
    """Serve the manual.

    `has_reference` says whether this server also has the reference of the API.
    """
    at = f"{services.urls.prefix}/docs"
    endpoints = ManualEndpoints(
        manual(), dashboard=services.settings.ui, has_reference=has_reference
    )
    works: dict[str, Handler] = {
        at: endpoints.index,
        f"{at}/": endpoints.index,
        f"{at}/search.json": endpoints.search,
        f"{at}/{{page}}": endpoints.page,
        f"{at}/{{folder}}/{{page}}": endpoints.page,
    }
    for path, work in works.items():
        routes.add("GET", path, wrap(services, work, door="docs"))
    assets.add(services, routes)


class ManualEndpoints:
    """The handlers of the manual's endpoints."""

    def __init__(self, pages: Manual, *, dashboard: bool, has_reference: bool) -> None:
        self._manual = pages
        self._frame = {"place": "manual", "dashboard": dashboard, "has_reference": has_reference}
        self._search = cache(lambda: search_index(pages))
        self._drawn = cache(self._draw)

    async def index(self, request: Request) -> Response:
        """Return the contents. Relative links depend on whether the path ends with a slash."""
        slash = request.scope["path"].endswith("/")
        return await self._page(request, INDEX, "" if slash else "docs/")

    async def page(self, request: Request) -> Response:
        """Return a page, its Markdown, or a picture. Raise Missing if there is none."""
        folder = request.values.get("folder", "")
        name = f"{folder}/{request.values['page']}" if folder else request.values["page"]
        root = "../" if folder else ""
        if name in self._manual.pages:
            return await self._page(request, name, root)
        if name.endswith(SUFFIX) and name.removesuffix(SUFFIX) in self._manual.pages:
            source = self._manual.pages[name.removesuffix(SUFFIX)].source
            return _kept(request, source.encode(), MARKDOWN)
        kind = KINDS.get(name.rpartition(".")[2])
        content = None if kind is None else await asyncio.to_thread(self._manual.file, name)
        if kind is None or content is None:
            return self._missing(request, root)
        return _kept(request, content, (b"content-type", kind))

    async def search(self, request: Request) -> Response:
        return _kept(request, await asyncio.to_thread(self._search), JSON)

    def _missing(self, request: Request, root: str) -> Response:
        """Return a 404 page with the contents and the search.

        Raises Missing if the client does not ask for HTML.
        """
        if not Accept(request.accept).explicit("text/html"):
            raise Missing("page")
        return Response(404, self._drawn("", root), [HTML, *LASTING])

    async def _page(self, request: Request, name: str, root: str) -> Response:
        if name not in self._manual.pages:
            raise Missing("page")
        return _kept(request, await asyncio.to_thread(self._drawn, name, root), HTML)

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


def _kept(request: Request, body: bytes, kind: Header) -> Response:
    # Clients cache responses and revalidate them with each request, so an upgrade shows at once.
    answer = Response(200, body, [kind, *LASTING])
    conditional.apply_conditions(answer, request.headers, None)
    return answer
