"""`/openapi.json` and `/reference`: the API's description outside the dashboard, for the audience
that the setting `api_reference` names.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import orjson

from hub.admin.administrators import AdminAuth
from hub.http.accept import Accept
from hub.http.errors import Unauthenticated
from hub.http.response import JSON, Response, header
from hub.http.routing import Routes, path_of
from hub.openapi.cache import OpenAPICache
from hub.rest.context import Services
from hub.rest.middleware import wrap
from hub.rest.request import Handler, Request
from hub.ui.headers import PAGE
from hub.ui.reference import views
from hub.ui.reference.views import DocumentLoader
from hub.ui.section import ROOT
from hub.ui.templating import render

Check = Callable[[Request], Awaitable[None]]
View = Callable[[DocumentLoader, Request], dict[str, Any]]
# By path: the relative URL of the API's root, the template, and a function for its values.
PAGES: Mapping[str, tuple[str, str, View]] = {
    "/reference": (
        "",
        "reference.html",
        lambda openapi, request: views.groups_view(openapi()),
    ),
    "/reference/{group}": (
        "../",
        "reference_group.html",
        lambda openapi, request: views.group_view(openapi, request.values["group"], "../reference"),
    ),
    "/reference/schemas/{name}": (
        "../../",
        "reference_schema.html",
        lambda openapi, request: views.schema_view(openapi(), request.values["name"]),
    ),
}


def add(
    services: Services,
    routes: Routes,
    openapi: OpenAPICache,
    admins: AdminAuth,
    *,
    dashboard: bool,
) -> None:
    """Serve the description to the audience that the setting `api_reference` names.

    With `dashboard`, browsers without a token are redirected to the dashboard to sign in.
    """
    if services.settings.api_reference == "off":
        return
    checks = {"public": None, "users": admins.check_user, "admin": admins.check}
    check = checks[services.settings.api_reference]
    works = {"/openapi.json": _restricted(check, partial(_document, openapi))}
    for path, (up, template, view) in PAGES.items():
        page = _page(openapi, up, template, view, dashboard=dashboard)
        shown = _restricted(check, page)
        works[path] = _signing_in(services, shown) if dashboard else shown
    for path, work in works.items():
        routes.add("GET", services.urls.prefix + path, wrap(services, work, door="docs"))


def _restricted(check: Check | None, work: Handler) -> Handler:
    if check is None:
        return work

    async def run(request: Request) -> Response:
        await check(request)
        return await work(request)

    return run


def _signing_in(services: Services, work: Handler) -> Handler:
    """Return a handler like `work` that redirects browsers without a token to the dashboard."""

    async def run(request: Request) -> Response:
        try:
            return await work(request)
        except Unauthenticated:
            if b"authorization" in request.headers or not Accept(request.accept).explicit(
                "text/html"
            ):
                raise
            # As it was sent: a decoded part could hold what no header may hold.
            here = path_of(request.scope).removeprefix(services.urls.prefix)
            return Response(303, b"", [header("Location", ROOT + here)])

    return run


async def _document(openapi: OpenAPICache, request: Request) -> Response:
    content = await asyncio.to_thread(lambda: orjson.dumps(openapi()))
    return Response(200, content, [JSON])


def _page(openapi: OpenAPICache, up: str, template: str, view: View, *, dashboard: bool) -> Handler:
    frame = {
        "base": "_public.html",
        "place": "reference",
        "up": up,
        "at": f"{up}reference",
        "dashboard": dashboard,
        "has_reference": True,
    }

    def draw(request: Request) -> bytes:
        return render(template, {**frame, **view(openapi, request)}).encode()

    async def work(request: Request) -> Response:
        return Response(200, await asyncio.to_thread(draw, request), PAGE)

    return work
