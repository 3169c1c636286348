"""The dashboard's cookies: reading, setting and deleting them."""

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
    """Return the dashboard's own cookies by name. Their names begin like SESSION.

    The parser of the standard library needs seconds for a long value in quotes.
    """
    pairs = (one.partition("=") for one in (request.text(b"cookie") or "").split(";"))
    named = ((name.strip(), value) for name, _, value in pairs)
    return {name: unquote(value.strip()) for name, value in named if name.startswith(SESSION)}


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
