"""Static files of the dashboard, under URLs that change with their content."""

import hashlib
from functools import cache
from importlib.resources import files

from hub.http.response import Header, Response
from hub.rest.request import Handler, Request
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
    digest = hashlib.sha256(_contents()[name]).hexdigest()[:12]
    return f"{ROOT}/static/{digest}/{name}"


def serving() -> Handler:
    """Return the handler that serves static files."""

    async def work(call: Request) -> Response:
        name = call.values["name"]
        if (
            name not in _contents()
            or asset(name) != f"{ROOT}/static/{call.values['digest']}/{name}"
        ):
            raise Missing(name)
        kind = KINDS[name.rpartition(".")[2]]
        return Response(200, _contents()[name], [(b"content-type", kind), FOREVER, NOSNIFF])

    return work
