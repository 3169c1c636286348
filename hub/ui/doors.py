"""Where the dashboard is: every path of it, given to the hub's routes."""

from hub.call import Work
from hub.endpoint import endpoint
from hub.routing import Routes
from hub.ui import assets
from hub.ui.section import ROOT
from hub.ui.sections import SECTIONS
from hub.ui.serve import Desk
from hub.ui.signing_in import Door


def add(desk: Desk, routes: Routes) -> None:
    """Serve the dashboard."""
    for line, work in works(desk).items():
        method, _, path = line.partition(" ")
        routes.add(method, path, endpoint(desk.house, work, door="ui"))


def works(desk: Desk) -> dict[str, Work]:
    """Method and path to what answers there."""
    door = Door(desk)
    found = {
        f"GET {ROOT}/static/{{digest}}/{{name}}": assets.serving(),
        f"POST {ROOT}/sign-in": door.sign_in(),
        f"POST {ROOT}/sign-out": door.sign_out(),
        f"POST {ROOT}/theme": door.theme(),
    }
    for section in SECTIONS:
        found |= {f"GET {page.path}": desk.page(page) for page in section.pages}
        found |= {f"POST {act.path}": desk.act(act) for act in section.acts}
        found |= {f"GET {live.path}": desk.live(live) for live in section.lives}
    return found
