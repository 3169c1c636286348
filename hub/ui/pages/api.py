"""The API's reference within the dashboard, for whom the setting `api_reference` names."""

from typing import Any

from hub.http.errors import Forbidden
from hub.settings import HubSettings
from hub.ui import reference_views
from hub.ui.errors import NotSignedIn
from hub.ui.reference_views import Described
from hub.ui.section import ROOT, Section
from hub.ui.view_context import ViewContext
from hub.ui.viewer import DashboardViewer
from store.errors import Missing


def _offered(settings: HubSettings, viewer: DashboardViewer) -> bool:
    if settings.api_reference == "admin":
        return viewer.operator
    return settings.api_reference != "off"


ui = Section("API", "/reference", "user", _offered, second=True)


def _described(look: ViewContext) -> Described:
    """Return what returns the API's description, for the audience that the setting names.

    Raises Missing, NotSignedIn or Forbidden for others.
    """
    who, viewer = look.services.settings.api_reference, look.viewer
    if who == "off":
        raise Missing("reference: the setting api_reference is off")
    if who != "public" and viewer.caller is None and not viewer.operator:
        if viewer.is_guest:
            raise Forbidden("Sign in with a token to see the reference.")
        raise NotSignedIn
    if who == "admin" and not viewer.operator:
        raise Forbidden("Only operators may see the reference: see the setting api_reference.")
    return look.described


def _frame(look: ViewContext) -> dict[str, Any]:
    """Return the values that the links between the pages are made of."""
    return {"base": "_base.html", "at": f"{ROOT}/reference", "up": f"{look.services.urls.prefix}/"}


@ui.page("/reference", "reference.html", who="anyone", described=True)
def list_groups(look: ViewContext) -> dict[str, Any]:
    """List all operations by group."""
    return {**_frame(look), **reference_views.groups_view(_described(look)())}


@ui.page("/reference/{group}", "reference_group.html", who="anyone", described=True)
def show_group(look: ViewContext) -> dict[str, Any]:
    """Show the operations of a group with their parameters and responses."""
    frame = _frame(look)
    group = look.values["group"]
    return {**frame, **reference_views.group_view(_described(look), group, frame["at"])}


@ui.page("/reference/schemas/{name}", "reference_schema.html", who="anyone", described=True)
def show_schema(look: ViewContext) -> dict[str, Any]:
    """Show one schema with its members."""
    return {**_frame(look), **reference_views.schema_view(_described(look)(), look.values["name"])}
