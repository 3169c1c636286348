"""A receiver of webhooks, which checks their signatures."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from worker.delivery.sign import verify_hub, verify_standard

LARGEST = 26 * 1024 * 1024
# Seconds by which a message's time may differ from now, as in Standard Webhooks.
TOLERANCE = 300


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A delivery as it arrived. `checks` maps each signature header to whether it is right."""

    event: str
    guid: str
    method: str
    path: str
    content_type: str
    body: bytes
    checks: dict[str, bool]

    @property
    def verified(self) -> bool:
        """Return whether the delivery has signatures and all are right."""
        return bool(self.checks) and all(self.checks.values())

    @property
    def payload(self) -> bytes:
        """Return the JSON, taken from the form if the delivery is one."""
        if self.content_type != "application/x-www-form-urlencoded":
            return self.body
        fields = parse_qs(self.body.decode(errors="replace"), max_num_fields=100)
        return fields.get("payload", [""])[0].encode()


class Receiver:
    """An ASGI application that answers every request with `status`, after `delay` seconds."""

    def __init__(
        self,
        take: Callable[[ReceivedRequest], None],
        *,
        secret: str | None = None,
        status: int = 200,
        delay: float = 0,
    ) -> None:
        self._take = take
        self._secret = secret
        self._status = status
        self._delay = delay

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            body = await _body(request)
        except ClientDisconnect:
            return
        if body is None:
            response = PlainTextResponse("too large\n", 413)
        else:
            self._take(read_request(request, body, self._secret))
            await asyncio.sleep(self._delay)
            response = PlainTextResponse("" if self._status == 204 else "\n", self._status)
        await response(scope, receive, send)


async def _body(request: Request) -> bytes | None:
    """Return the body, or None if it is larger than any delivery."""
    chunks = bytearray()
    async for chunk in request.stream():
        chunks += chunk
        if len(chunks) > LARGEST:
            return None
    return bytes(chunks)


def read_request(request: Request, body: bytes, secret: str | None) -> ReceivedRequest:
    """Return the delivery in a request, with its signatures checked against the secret."""
    headers = request.headers
    return ReceivedRequest(
        event=_named(headers, "event") or "?",
        guid=_named(headers, "delivery") or headers.get("webhook-id", "?"),
        method=request.method,
        path=request.url.path,
        content_type=headers.get("content-type", "").partition(";")[0].strip().lower(),
        body=body,
        checks={} if secret is None else _checks(headers, body, secret),
    )


def _named(headers: Headers, name: str) -> str | None:
    """Return the value of the header `X-ANYTHING-NAME`, with any prefix."""
    ending = f"-{name}"
    return next((value for key, value in headers.items()
                 if key.startswith("x-") and key.endswith(ending)), None)  # fmt: skip


def _checks(headers: Headers, body: bytes, secret: str) -> dict[str, bool]:
    checks = {
        name: verify_hub(secret, body, headers[name])
        for name in ("x-hub-signature-256", "x-hub-signature")
        if name in headers
    }
    if "webhook-signature" in headers:
        message_id, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
        right = verify_standard(secret, message_id, sent, body, headers["webhook-signature"])
        checks["webhook-signature"] = right and abs(time.time() - int(sent)) <= TOLERANCE
    return checks
