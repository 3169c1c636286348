"""JSON Web Tokens, with which an app authenticates as itself.

Clients correct their clock by the messages of the errors, so the words are fixed.
"""

import math
from typing import Any

from hub.auth import signed_token
from hub.auth.signed_token import SignedToken, Undecodable
from hub.http.errors import Unauthenticated
from hub.http.numbers import natural
from store import Connection, Row
from store.accounts import apps
from store.apps import app_keys
from store.clock import SECOND

MOST_AHEAD = 600
"""How far ahead a token may expire, in seconds. Its lifetime does not matter."""
UNREADABLE = "A JSON web token could not be decoded"
UNKNOWN_APP = "Integration not found"
TOO_FAR = "'Expiration time' claim ('exp') is too far in the future"
EXPIRED = (
    "'Expiration time' claim ('exp') must be a numeric value representing the future time at which"
    " the assertion expires"
)
NOT_YET = (
    "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was"
    " issued"
)


def has_form(value: str) -> bool:
    """Return whether a credential has the form of a JSON Web Token. No other token has dots."""
    return value.count(".") == 2


def authenticate_app(db: Connection, value: str) -> Row:
    """Return the app that has signed the token.

    Raises Unauthenticated if the app is unknown, no key of the app made the signature, or the
    token's times are wrong.
    """
    try:
        token = signed_token.decode(value)
    except Undecodable:
        raise Unauthenticated(UNREADABLE) from None
    app = _issuer(db, token.claims)
    _check_signature(db, app, token)
    _check_times(db, token.claims)
    return app


def _issuer(db: Connection, claims: dict[str, Any]) -> Row:
    issuer = claims.get("iss")
    text = str(issuer) if isinstance(issuer, int | str) else ""
    number = natural(text)
    app = None if number is None else apps.get(db, number)
    app = app or apps.by_client_id(db, text)
    if app is None or app["kind"] != "integration":
        raise Unauthenticated(UNKNOWN_APP)
    return app


def _check_signature(db: Connection, app: Row, token: SignedToken) -> None:
    keys = app_keys.of_app(db, app["id"])
    if not any(token.is_signed_by(key["public_key"]) for key in keys):
        raise Unauthenticated(UNREADABLE)


def _check_times(db: Connection, claims: dict[str, Any]) -> None:
    expires, issued = _number(claims.get("exp")), claims.get("iat")
    if expires is None or expires * SECOND <= db.now:
        raise Unauthenticated(EXPIRED)
    if expires * SECOND > db.now + MOST_AHEAD * SECOND:
        raise Unauthenticated(TOO_FAR)
    if isinstance(issued, bool) or not isinstance(issued, int) or issued * SECOND > db.now:
        raise Unauthenticated(NOT_YET)


def _number(value: Any) -> int | float | None:
    # bool is a subclass of int, but true and false are no numbers in JSON.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) else None
