"""JSON Web Tokens, with which an app authenticates as itself.

Clients correct their clock by the messages of the errors, so the words are fixed.
"""

import math
from typing import Any

import jwt

from hub.http.errors import Unauthenticated
from hub.http.numbers import natural
from store import Connection, Row
from store.accounts import apps
from store.apps import app_keys
from store.clock import SECOND

ALGORITHM = "RS256"
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
# The claims are checked here, because each has its message.
SIGNATURE_ONLY: Any = {
    "verify_exp": False,
    "verify_iat": False,
    "verify_nbf": False,
    "verify_aud": False,
    "verify_iss": False,
    "verify_sub": False,
    "verify_jti": False,
}
UNREAD = (jwt.PyJWTError, ValueError, RecursionError)


def has_form(value: str) -> bool:
    """Return whether a credential has the form of a JSON Web Token. No other token has dots."""
    return value.count(".") == 2


def authenticate_app(db: Connection, value: str) -> Row:
    """Return the app that has signed the token.

    Raises Unauthenticated if the app is unknown, the signature is of no key of the app, or the
    token's times are wrong.
    """
    app = _issuer(db, _claims(value))
    claims = _signed(db, app, value)
    _check_times(db, claims)
    return app


def _claims(value: str) -> dict[str, Any]:
    try:
        claims: dict[str, Any] = jwt.decode(value, options={"verify_signature": False})
    except UNREAD:
        raise Unauthenticated(UNREADABLE) from None
    return claims


def _issuer(db: Connection, claims: dict[str, Any]) -> Row:
    issuer = claims.get("iss")
    text = str(issuer) if isinstance(issuer, int | str) else ""
    number = natural(text)
    app = None if number is None else apps.get(db, number)
    app = app or apps.by_client_id(db, text)
    if app is None or app["kind"] != "integration":
        raise Unauthenticated(UNKNOWN_APP)
    return app


def _signed(db: Connection, app: Row, value: str) -> dict[str, Any]:
    for key in app_keys.of_app(db, app["id"]):
        try:
            found: dict[str, Any] = jwt.decode(
                value, key["public_key"], algorithms=[ALGORITHM], options=SIGNATURE_ONLY
            )
        except UNREAD:
            continue
        return found
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
    # A flag is an integer to Python, and no number to anybody else.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) else None
