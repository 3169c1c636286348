"""The values that the template of every page receives."""

from collections.abc import Iterable
from typing import Any

from hub.http.routing import path_of
from hub.ui import cookies
from hub.ui.audience import NOBODY, is_for
from hub.ui.hook_form import kept_fields
from hub.ui.section import ROOT, Section
from hub.ui.session_request import SessionRequest
from hub.ui.view_context import ViewContext


def values_of_request(visit: SessionRequest, menu: Iterable[Section]) -> dict[str, Any]:
    """Return the values of every page, of an error too. They need no transaction."""
    viewer = visit.viewer
    services = visit.services
    return {
        "viewer": viewer or NOBODY,
        "signed_in": viewer is not None,
        "csrf": visit.form_token(),
        "home": f"{ROOT}/hooks/{viewer.hook_id}" if viewer and viewer.is_guest else ROOT,
        "theme": visit.theme,
        "mark": visit.mark,
        "unseen": "",
        "trouble": False,
        "notice": visit.cookies.get(cookies.NOTICE, "")[:500],
        "here": path_of(visit.request.scope),
        "place": visit.place,
        "menu": _offered(visit, menu),
        "request_id": visit.request.request_id,
        "kept": kept_fields.fields(visit.kept),
        "origin": visit.origin + services.urls.prefix,
        "manual": f"{services.urls.prefix}/docs",
        "now": services.store.clock.now(),
    }


def _offered(visit: SessionRequest, menu: Iterable[Section]) -> list[Section]:
    """Return the menu's entries for the viewer."""
    settings, viewer = visit.services.settings, visit.viewer
    return [
        one
        for one in menu
        if one.label and is_for(one.who, viewer) and one.offered(settings, viewer or NOBODY)
    ]


def values_of_viewer(ctx: ViewContext) -> dict[str, Any]:
    """Return the values of every page that depend on what the viewer may see."""
    # `unseen` comes first: it asks whether the page itself has looked for repositories.
    return {"now": ctx.now, "unseen": ctx.unseen, "trouble": ctx.has_trouble()}
