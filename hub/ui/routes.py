"""The routes of the dashboard."""

from hub.http.routing import Routes
from hub.rest.middleware import wrap
from hub.rest.request import Handler
from hub.ui import assets
from hub.ui.section import ROOT
from hub.ui.sections import SECTIONS
from hub.ui.serve import Dashboard
from hub.ui.signing_in import SignIn


def add(desk: Dashboard, routes: Routes) -> None:
    """Add the dashboard's routes."""
    for line, work in serves(desk).items():
        method, _, path = line.partition(" ")
        routes.add(method, path, wrap(desk.services, work, door="ui"))


def serves(desk: Dashboard) -> dict[str, Handler]:
    """Return the dashboard's handlers by method and path."""
    door = SignIn(desk)
    found = {
        f"GET {ROOT}/static/{{digest}}/{{name}}": assets.serving(),
        f"GET {ROOT}/stream": desk.stream(),
        f"POST {ROOT}/sign-in": door.sign_in(),
        f"POST {ROOT}/sign-out": door.sign_out(),
        f"POST {ROOT}/theme": door.theme(),
    }
    for section in SECTIONS:
        found |= {f"GET {page.path}": desk.page(page) for page in section.pages}
        found |= {f"POST {act.path}": desk.act(act) for act in section.acts}
    return found
