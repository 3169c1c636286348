"""The API's reference for people: Swagger UI over the OpenAPI document, from this server alone."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files

import orjson

from hub.admin.administrators import AdminAuth
from hub.http.response import HTML, JSON, Header, Response
from hub.http.routing import Routes
from hub.openapi.cache import OpenAPICache
from hub.rest.context import Services
from hub.rest.middleware import wrap
from hub.rest.request import Handler, Request
from store.errors import Missing

POLICY: Header = (
    b"content-security-policy",
    b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self';"
    b" img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
)
KEPT: Header = (b"cache-control", b"public, max-age=86400")
ASSETS = {"swagger-ui.css": b"text/css", "swagger-ui-bundle.js": b"text/javascript"}
# Relative: the page may be under a prefix, or behind a proxy that has one.
START = b"""window.onload = () => SwaggerUIBundle({
  url: "openapi.json", dom_id: "#reference", deepLinking: true, validatorUrl: null,
});
"""
PAGE = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tocsin: the API</title>
<link rel="stylesheet" href="reference/swagger-ui.css">
<main id="reference"><noscript>Without scripts: <a href="docs">the same as text</a>, or
<a href="openapi.json">the OpenAPI document</a>.</noscript></main>
<script src="reference/swagger-ui-bundle.js"></script>
<script src="reference/start.js"></script>
</html>
"""


def add(house: Services, routes: Routes, described: OpenAPICache, admins: AdminAuth) -> None:
    """Serve them to whom the setting names."""
    checks = {"public": None, "users": admins.check_user, "admin": admins.check}
    if house.settings.api_reference == "off":
        return
    check = checks[house.settings.api_reference]
    for path, work in is_complete(described).items():
        shown = work if check is None else _restricted(check, work)
        routes.add("GET", house.urls.prefix + path, wrap(house, shown))


def _restricted(check: Callable[[Request], Awaitable[None]], work: Handler) -> Handler:
    async def run(call: Request) -> Response:
        await check(call)
        return await work(call)

    return run


def is_complete(document: Callable[[], Mapping[str, object]]) -> dict[str, Handler]:
    """Path to what answers there: the document, the page over it, and what the page is made of."""
    found = {
        "/openapi.json": _described(document),
        "/reference": _constant(Response(200, PAGE, [HTML, POLICY])),
        "/reference/start.js": _constant(
            Response(200, START, [(b"content-type", b"text/javascript"), KEPT])
        ),
    }
    return found | {f"/reference/{name}": _asset(name, kind) for name, kind in ASSETS.items()}


def _described(document: Callable[[], Mapping[str, object]]) -> Handler:
    async def work(call: Request) -> Response:
        content = await asyncio.to_thread(lambda: orjson.dumps(document()))
        return Response(200, content, [JSON])

    return work


def _constant(answer: Response) -> Handler:
    async def work(call: Request) -> Response:
        return Response(answer.status, answer.body, answer.headers)

    return work


def _asset(name: str, kind: bytes) -> Handler:
    async def work(call: Request) -> Response:
        body = await asyncio.to_thread(_read, name)
        return Response(200, body, [(b"content-type", kind), KEPT])

    return work


def _read(name: str) -> bytes:
    try:
        return (files("swagger_ui") / "static" / name).read_bytes()
    except (ModuleNotFoundError, FileNotFoundError):
        raise Missing(name) from None
