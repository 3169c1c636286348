"""A delivery as a receiver gets it, with its signatures checked."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import Request

from worker.signing.sign import verify_hub, verify_standard

# Seconds by which a message's time may differ from now, as in Standard Webhooks.
TOLERANCE = 300


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A delivery as it arrived. `checks` maps each signature header to whether it is right."""

    event: str
    guid: str
    method: str
    target: str
    """The path and the query, as sent."""
    headers: list[tuple[bytes, bytes]]
    content_type: str
    body: bytes
    checks: dict[str, bool]

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def verified(self) -> bool:
        """Return whether the delivery has signatures and all are right."""
        return bool(self.checks) and all(self.checks.values())

    @property
    def payload(self) -> bytes:
        """Return the JSON of the body. A form has it in its field `payload`."""
        if self.content_type != "application/x-www-form-urlencoded":
            return self.body
        fields = parse_qs(self.body.decode(errors="replace"), max_num_fields=100)
        return fields.get("payload", [""])[0].encode()


def read_request(request: Request, body: bytes, secret: str | None) -> ReceivedRequest:
    """Return the delivery in a request, with its signatures checked against the secret."""
    return from_headers(request.headers.raw, body, secret, request.method, _target(request))


def from_headers(
    given: Iterable[tuple[bytes, bytes]],
    body: bytes,
    secret: str | None,
    method: str = "POST",
    target: str = "/",
) -> ReceivedRequest:
    """Return a delivery with these headers, with its signatures checked against the secret.

    If the secret is None, no signature is checked.
    """
    raw = [*given]
    headers = Headers(raw=[(name.lower(), value) for name, value in raw])
    return ReceivedRequest(
        event=_named(headers, "event") or "?",
        guid=_named(headers, "delivery") or headers.get("webhook-id", "?"),
        method=method,
        target=target,
        headers=raw,
        content_type=headers.get("content-type", "").partition(";")[0].strip().lower(),
        body=body,
        checks={} if secret is None else _checks(headers, body, secret),
    )


def _target(request: Request) -> str:
    query = request.scope["query_string"].decode("latin-1")
    path: str = request.scope["raw_path"].decode("latin-1")
    return f"{path}?{query}" if query else path


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
    given = headers.get("webhook-signature")
    # A secret cannot check a signature by a key (v1a).
    if given is not None and not all(one.startswith("v1a,") for one in given.split(" ")):
        message_id, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
        right = verify_standard(secret, message_id, sent, body, given)
        checks["webhook-signature"] = right and abs(time.time() - int(sent)) <= TOLERANCE
    return checks
