"""The signatures of a delivery, and which of the hook's secrets made them."""

import hashlib
import hmac
from dataclasses import dataclass

from hub.ui.payload_bytes import body_of
from store import Connection, Row
from store.errors import Unusable
from store.hooks import hook_secrets, hooks

SHA256 = ("x-hub-signature-256", "x-hub-signature-256-alternate")
SHOWN = (*SHA256, "x-hub-signature", "webhook-signature")


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature header with its value. `said` describes it; `kind` is its status."""

    header: str
    value: str
    kind: str
    said: str


def signatures(db: Connection, hook: Row | None, attempt: Row) -> list[Signature]:
    known = _expected(db, hook, attempt)
    found = []
    for name, value in attempt["request_headers"].items():
        if name.lower() in SHOWN:
            kind, said = "none", ""
            if name.lower() in SHA256 and known:
                kind, said = known.get(value, ("warn", "made with an earlier secret"))
            found.append(Signature(name, value, kind, said))
    return found


def _expected(db: Connection, hook: Row | None, attempt: Row) -> dict[str, tuple[str, str]]:
    """Return the signature that each of the hook's secrets would make, with its status and text.

    It is empty if the body or the present secret is not known.
    """
    body = body_of(attempt)
    if hook is None or body is None:
        return {}
    try:
        now = hooks.secret_of(db, hook)
    except Unusable:
        return {}
    former = hook_secrets.previous_secret(db, hook)
    known = {"former": former and former[0], "present": now}
    return {
        _sign(secret, body): ("good", f"made with the {which} secret")
        for which, secret in known.items()
        if secret is not None
    }


def _sign(secret: str, body: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
