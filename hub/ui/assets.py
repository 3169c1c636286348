"""Static files of the dashboard, under URLs that change with their content."""

import hashlib
from functools import cache
from importlib.resources import files

from hub.http.response import Header, Response
from hub.http.routing import Routes
from hub.rest.context import Services
from hub.rest.middleware import wrap
from hub.rest.request import Request
from hub.ui.section import ROOT
from store.errors import Missing

KINDS = {"css": b"text/css; charset=utf-8", "js": b"text/javascript; charset=utf-8",
         "svg": b"image/svg+xml", "LICENSE": b"text/plain; charset=utf-8"}  # fmt: skip
FOREVER: Header = (b"cache-control", b"public, max-age=31536000, immutable")
NOSNIFF: Header = (b"x-content-type-options", b"nosniff")


@cache
def _contents() -> dict[str, bytes]:
    folder = files(__package__) / "static"
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}


@cache
def asset(name: str) -> str:
    """Return the path of a file in `static`.

    The path contains a digest of the content, so that browsers may cache it forever.
    """
    return f"{ROOT}/static/{_digest(name)}/{name}"


@cache
def public_asset(name: str) -> str:
    """Return the path of a file in `static` for pages outside the dashboard.

    It is relative to the API's root, and also contains a digest of the content.
    """
    return f"docs/static/{_digest(name)}-{name}"


def add(services: Services, routes: Routes) -> None:
    """Serve the static files to pages outside the dashboard."""
    path = f"{services.urls.prefix}/docs/static/{{file}}"
    routes.add("GET", path, wrap(services, _public, door="docs"))


async def _public(request: Request) -> Response:
    _, _, name = request.values["file"].partition("-")
    if name not in _contents() or not public_asset(name).endswith(f"/{request.values['file']}"):
        raise Missing(name)
    return _sent(name)


def _digest(name: str) -> str:
    return hashlib.sha256(_contents()[name]).hexdigest()[:12]


async def serve(request: Request) -> Response:
    """Serve a static file."""
    name = request.values["name"]
    if name not in _contents() or asset(name) != f"{ROOT}/static/{request.values['digest']}/{name}":
        raise Missing(name)
    return _sent(name)


def _sent(name: str) -> Response:
    kind = KINDS[name.rpartition(".")[2]]
    return Response(200, _contents()[name], [(b"content-type", kind), FOREVER, NOSNIFF])
