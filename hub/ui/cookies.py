"""The dashboard's cookies: read, set, and taken back."""

from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote, unquote

from hub.http.response import Header, header
from hub.rest.request import Request
from hub.ui.section import ROOT

SESSION = "tocsin_ui"
DOOR = "tocsin_ui_door"
"""What the form that signs in goes with, while there is no session."""
NOTICE = "tocsin_ui_notice"
THEME = "tocsin_ui_theme"
YEAR = 365 * 24 * 3600


def read(call: Request) -> dict[str, str]:
    """The cookies that came, by name; none where they cannot be read."""
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load(call.text(b"cookie") or "")
    except CookieError:
        return {}
    return {name: unquote(one.value) for name, one in jar.items()}


def set_cookie(name: str, value: str, *, secure: bool, seconds: int | None = None) -> Header:
    """Have a browser keep a cookie: until it is closed, or for so many seconds (0: no longer)."""
    parts = [f"{name}={quote(value, safe='')}", f"Path={ROOT}", "HttpOnly", "SameSite=Strict"]
    parts += [] if seconds is None else [f"Max-Age={seconds}"]
    parts += ["Secure"] if secure else []
    return header("Set-Cookie", "; ".join(parts))


def delete_cookie(name: str, *, secure: bool) -> Header:
    """Have a browser forget a cookie."""
    return set_cookie(name, "", secure=secure, seconds=0)
