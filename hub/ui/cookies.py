"""The dashboard's cookies: reading, setting and deleting them."""

from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote, unquote

from hub.http.response import Header, header
from hub.rest.request import Request
from hub.ui.section import ROOT

SESSION = "tocsin_ui"
DOOR = "tocsin_ui_door"
"""Secures the sign-in form, while there is no session."""
ATTEMPT = "tocsin_ui_openid"
"""Holds an attempt to sign in while the browser is at the provider."""
NOTICE = "tocsin_ui_notice"
THEME = "tocsin_ui_theme"
YEAR = 365 * 24 * 3600


def read(request: Request) -> dict[str, str]:
    """Return the request's cookies by name; empty if they cannot be parsed."""
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load(request.text(b"cookie") or "")
    except CookieError:
        return {}
    return {name: unquote(one.value) for name, one in jar.items()}


def set_cookie(
    name: str, value: str, *, secure: bool, seconds: int | None = None, site: str = "Strict"
) -> Header:
    """Return the header that sets a cookie, until the browser closes or for `seconds`.

    With `site="Lax"` the browser also sends it when another site leads here.
    """
    parts = [f"{name}={quote(value, safe='')}", f"Path={ROOT}", "HttpOnly", f"SameSite={site}"]
    parts += [] if seconds is None else [f"Max-Age={seconds}"]
    parts += ["Secure"] if secure else []
    return header("Set-Cookie", "; ".join(parts))


def delete_cookie(name: str, *, secure: bool) -> Header:
    """Return the header that deletes a cookie."""
    return set_cookie(name, "", secure=secure, seconds=0)
