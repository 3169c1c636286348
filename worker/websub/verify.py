"""Verification of intent: the hub asks the callback whether it wants the subscription."""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlencode

from store import Row
from worker.http.client import FetchedResponse, GuardedClient

Pairs = Sequence[tuple[str, str]]


async def ask_callback(
    client: GuardedClient, callback: str, pairs: Pairs, deadline: float
) -> FetchedResponse:
    """Send a GET request to a callback, with more parameters at the end of its query.

    The callback's URL is sent byte for byte. Raises RequestFailed if it is refused, or if no answer
    came.
    """
    endpoint = client.endpoint(callback)
    asked = replace(endpoint, target=with_query(endpoint.target, pairs))
    return await client.request("GET", asked, deadline=deadline)


def with_query(target: str, pairs: Pairs) -> str:
    """Return a path and query with more parameters at the end. The rest stays unchanged."""
    path, _, query = target.partition("?")
    joint = "&" if query and not query.endswith("&") else ""
    return f"{path}?{query}{joint}{urlencode(pairs)}"


def new_challenge() -> str:
    """Return a random string for one verification."""
    return secrets.token_urlsafe(32)


def verification_query(request: Row, challenge: str, token: str | None = None) -> Pairs:
    """Return the parameters of a verification request, with the subscriber's own `token`."""
    pairs = [("hub.mode", request["mode"]), ("hub.topic", request["topic"])]
    if request["mode"] == "denied":
        return [*pairs, ("hub.reason", request["reason"] or "")]
    pairs.append(("hub.challenge", challenge))
    if request["mode"] == "subscribe":
        pairs.append(("hub.lease_seconds", str(request["lease_seconds"])))
    if token:
        pairs.append(("hub.verify_token", token))
    return pairs


def is_confirmed(reply: FetchedResponse, challenge: str) -> bool:
    """Return whether a reply confirms: it is any 2xx, and its body is exactly the challenge."""
    return reply.error is None and 200 <= reply.status < 300 and reply.body == challenge.encode()
