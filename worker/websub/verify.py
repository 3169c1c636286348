"""Verification of intent: the hub asks the callback whether it wants what was asked for it."""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlencode

from store import Row
from worker.delivery.websub_target import build_static_head
from worker.http.addresses import Refused
from worker.http.answer import ExchangeResult
from worker.http.guard import Guard
from worker.http.transport import HttpSender

Pairs = Sequence[tuple[str, str]]


async def ask_callback(
    guard: Guard, poster: HttpSender, callback: str, pairs: Pairs, deadline: float
) -> ExchangeResult:
    """Ask a callback, byte for byte as it is, with more parameters at the end of its query."""
    try:
        endpoint = guard.endpoint(callback)
    except Refused as error:
        answer = ExchangeResult()
        answer.error = f"guard: {error}"
        return answer
    asked = replace(endpoint, target=with_query(endpoint.target, pairs))
    head = build_static_head("GET", "", asked) + "\r\n"
    return await poster.post(asked, head.encode("latin-1"), b"", deadline=deadline)


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


def is_confirmed(answer: ExchangeResult, challenge: str) -> bool:
    """Whether an answer is a yes: any 2xx whose body is the challenge and nothing else."""
    if answer.error is not None or answer.status is None or not 200 <= answer.status < 300:
        return False
    return answer.body == challenge.encode() and not answer.truncated
