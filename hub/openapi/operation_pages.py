"""The page that `documentation_url` in errors leads to: every operation, from its declaration."""

import inspect
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape

from hub.http.response import HTML, Response
from hub.openapi.document import needs
from hub.rest.operation import Operation
from hub.rest.request import Handler, Request

LINK = '<p><a href="reference">The same with schemas</a></p>'
STYLE = "body{font-family:sans-serif;max-width:60em;margin:2em auto}code{font-size:1.1em}"


def anchor_of(line: str) -> str:
    """Where a line of the reference is on the page."""
    return re.sub(r"[^a-z0-9]+", "-", line.lower()).strip("-")


def documentation(
    operations: Sequence[Operation], others: Mapping[str, str], *, linked: bool = True
) -> Handler:
    """A page over operations, and over `others`: a line of the reference and its text each;
    `linked` with the page that shows schemas.
    """

    @cache
    def page() -> bytes:
        parts = [_section(one.id, f"{one.method} {one.path}", _text(one)) for one in operations]
        parts += [_section(anchor_of(line), line, text) for line, text in others.items()]
        return (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>tocsin: the API</title>'
            f"<style>{STYLE}</style><h1>tocsin: the API</h1>"
            f"{LINK if linked else ''}{''.join(parts)}</html>"
        ).encode()

    async def work(call: Request) -> Response:
        return Response(200, page(), [HTML])

    return work


def _section(anchor: str, line: str, text: str) -> str:
    paragraphs = "".join(f"<p>{escape(part)}</p>" for part in text.split("\n\n"))
    return f'<h2 id="{escape(anchor)}"><code>{escape(line)}</code></h2>{paragraphs}'


def _text(operation: Operation) -> str:
    return f"{inspect.getdoc(operation.function)}\n\n{needs(operation.access) or 'For anybody.'}"
