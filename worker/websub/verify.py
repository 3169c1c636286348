"""Verification of intent: the hub asks the callback whether it wants what was asked for it."""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlencode

from store import Row
from worker.http.client import GuardedClient, Reply
from worker.http.guard import Guard

Pairs = Sequence[tuple[str, str]]


async def ask_callback(
    guard: Guard, client: GuardedClient, callback: str, pairs: Pairs, deadline: float
) -> Reply:
    """Ask a callback, byte for byte as it is, with more parameters at the end of its query. Raises
    Refused, and RequestFailed if no answer came.
    """
    endpoint = guard.endpoint(callback)
    asked = replace(endpoint, target=with_query(endpoint.target, pairs))
    return await client.request("GET", asked, deadline=deadline)


def with_query(target: str, pairs: Pairs) -> str:
    """A path and query with more parameters at its end; what is there stays as it is."""
    path, _, query = target.partition("?")
    joint = "&" if query and not query.endswith("&") else ""
    return f"{path}?{query}{joint}{urlencode(pairs)}"


def new_challenge() -> str:
    """A random string, for one verification."""
    return secrets.token_urlsafe(32)


def verification_query(request: Row, challenge: str) -> Pairs:
    """What a callback is asked."""
    pairs = [("hub.mode", request["mode"]), ("hub.topic", request["topic"])]
    if request["mode"] == "denied":
        return [*pairs, ("hub.reason", request["reason"] or "")]
    pairs.append(("hub.challenge", challenge))
    if request["mode"] == "subscribe":
        pairs.append(("hub.lease_seconds", str(request["lease_seconds"])))
    if request["verify_token"]:
        pairs.append(("hub.verify_token", request["verify_token"]))
    return pairs


def is_confirmed(reply: Reply, challenge: str) -> bool:
    """Whether a reply confirms: any 2xx whose body is the challenge and nothing else."""
    return reply.error is None and 200 <= reply.status < 300 and reply.body == challenge.encode()
