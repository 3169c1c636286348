"""The routes of the dashboard."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from hub.http.routing import Endpoint, Line, Routes
from hub.rest.middleware import wrap
from hub.rest.request import Handler
from hub.ui import assets
from hub.ui.dashboard import Dashboard
from hub.ui.section import ROOT, Action, SectionPage
from hub.ui.sign_in.with_token import CALLBACK, START, SignIn
from hub.ui.site_sections import SECTIONS
from store.errors import Unusable

if TYPE_CHECKING:
    from hub.ui.sign_in.with_openid import OpenIDSignIn


def add(dashboard: Dashboard, routes: Routes) -> None:
    declared, others = _declared(), {_line(line): work for line, work in _others(dashboard).items()}

    def endpoint(line: Line) -> Endpoint:
        one = declared[line]
        work = dashboard.page(one) if isinstance(one, SectionPage) else dashboard.act(one)
        return wrap(dashboard.services, work, door="ui")

    routes.add_all(declared, endpoint)
    routes.add_all(others, lambda line: wrap(dashboard.services, others[line], door="ui"))


@cache
def _declared() -> Mapping[Line, SectionPage | Action]:
    """Return what the sections declare, by method and path."""
    found: dict[Line, SectionPage | Action] = {}
    for section in SECTIONS:
        found |= {Line("GET", page.path): page for page in section.pages}
        found |= {Line("POST", act.path): act for act in section.acts}
    return found


def _others(dashboard: Dashboard) -> dict[str, Handler]:
    """Return the handlers that no section declares, by method and path."""
    openid = _openid(dashboard)
    sign_in = SignIn(dashboard, None if openid is None else openid.sign_out_url)
    found = {
        f"GET {ROOT}/stream": dashboard.stream,
        f"POST {ROOT}/sign-in": sign_in.sign_in,
        f"POST {ROOT}/sign-out": sign_in.sign_out,
        f"POST {ROOT}/theme": sign_in.theme,
    }
    if openid is not None:
        found |= {f"GET {START}": openid.start, f"GET {CALLBACK}": openid.finish}
    guarded = {line: dashboard.guarded(run) for line, run in found.items()}
    return guarded | {f"GET {ROOT}/static/{{digest}}/{{name}}": assets.serve}


def _line(line: str) -> Line:
    method, _, path = line.partition(" ")
    return Line(method, path)


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
