"""Answers: a small ASGI response, because what an event costs here is paid for every one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from starlette.types import Receive, Scope, Send

JSON = (b"content-type", b"application/json; charset=utf-8")
HTML = (b"content-type", b"text/html; charset=utf-8")
# What begins the names of the forms that an answer in JSON may have beside its usual one.
FORMS = b"application/vnd.service-"
Header = tuple[bytes, bytes]


class Response:
    """Status, headers and body, ready to be sent."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, body: bytes = b"", headers: Sequence[Header] = ()) -> None:
        self.status = status
        self.body = body
        self.headers = list(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = self.headers
        if self.status not in (204, 304):
            headers = [*headers, (b"content-length", str(len(self.body)).encode())]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        body = b"" if scope["method"] == "HEAD" else self.body
        await send({"type": "http.response.body", "body": body})


@dataclass(frozen=True, slots=True)
class TypedReply:
    """What a handler returns where status, headers or media type are not as declared.

    A `body` of bytes is sent as it is, under the Content-Type among `headers`; anything else is
    JSON. None is no body.
    """

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


def json_response(status: int, content: Any, headers: Sequence[Header] = ()) -> Response:
    """An answer whose body is `content` as JSON."""
    return Response(status, orjson.dumps(content), [JSON, *headers])


def set_media_type(answer: Response, family: str, param: str) -> None:
    """Call an answer in JSON by the name of the form that it has."""
    kind = FORMS + f"{family}.{param}+json; charset=utf-8".encode()
    answer.headers = [(JSON[0], kind) if line == JSON else line for line in answer.headers]


def is_json(answer: Response) -> bool:
    """Whether its body is JSON, in whichever form."""
    return any(
        line == JSON or (line[0] == JSON[0] and line[1].startswith(FORMS))
        for line in answer.headers
    )


def header(name: str, value: str) -> Header:
    """A header line; `value` is latin-1 by then, or it could not be sent."""
    return name.lower().encode(), value.encode("latin-1", "replace")
