"""The routes of the dashboard."""

from typing import TYPE_CHECKING

from hub.http.routing import Line, Routes
from hub.rest.middleware import wrap
from hub.rest.request import Handler
from hub.ui import assets
from hub.ui.dashboard import Dashboard
from hub.ui.section import ROOT
from hub.ui.sign_in.with_token import CALLBACK, START, SignIn
from hub.ui.site_sections import SECTIONS
from store.errors import Unusable

if TYPE_CHECKING:
    from hub.ui.sign_in.with_openid import OpenIDSignIn


def add(dashboard: Dashboard, routes: Routes) -> None:
    """Add the dashboard's routes."""
    handlers = {_line(line): work for line, work in serves(dashboard).items()}
    routes.add_all(handlers, lambda line: wrap(dashboard.services, handlers[line], door="ui"))


def _line(line: str) -> Line:
    method, _, path = line.partition(" ")
    return Line(method, path)


def serves(dashboard: Dashboard) -> dict[str, Handler]:
    """Return the dashboard's handlers by method and path."""
    openid = _openid(dashboard)
    sign_in = SignIn(dashboard, None if openid is None else openid.sign_out_url)
    found = {
        f"GET {ROOT}/static/{{digest}}/{{name}}": assets.serving(),
        f"GET {ROOT}/stream": dashboard.stream(),
        f"POST {ROOT}/sign-in": sign_in.sign_in(),
        f"POST {ROOT}/sign-out": sign_in.sign_out(),
        f"POST {ROOT}/theme": sign_in.theme(),
    }
    if openid is not None:
        found |= {f"GET {START}": openid.start(), f"GET {CALLBACK}": openid.finish()}
    for section in SECTIONS:
        found |= {f"GET {page.path}": dashboard.page(page) for page in section.pages}
        found |= {f"POST {act.path}": dashboard.act(act) for act in section.acts}
    return found


def _openid(dashboard: Dashboard) -> "OpenIDSignIn | None":
    """Return the sign-in with a provider if the settings name one.

    Raises Unusable if what it needs is not installed.
    """
    if dashboard.services.settings.openid_issuer is None:
        return None
    try:
        # The extra may not be installed, and httpx takes as long to import as all the rest.
        from hub.ui.sign_in.with_openid import OpenIDSignIn
    except ImportError as error:
        raise Unusable(
            f"the setting openid_issuer needs the extra openid ({error}): install tocsin[openid]"
        ) from None
    return OpenIDSignIn(dashboard)
