"""The API's reference within the dashboard, for whom the setting `api_reference` names."""

from typing import Any

from hub.http.errors import Forbidden
from hub.settings import HubSettings
from hub.ui.errors import NotSignedIn
from hub.ui.reference import views
from hub.ui.reference.views import DocumentLoader
from hub.ui.section import ROOT, Section
from hub.ui.view_context import ViewContext
from hub.ui.viewer import DashboardViewer
from store.errors import Missing


def _offered(settings: HubSettings, viewer: DashboardViewer) -> bool:
    if settings.api_reference == "admin":
        return viewer.operator
    return settings.api_reference != "off"


ui = Section("API", "/reference", "user", _offered, second=True)


def _openapi(ctx: ViewContext) -> DocumentLoader:
    """Return the function that loads the API's description.

    Raises Missing, NotSignedIn or Forbidden if the setting `api_reference` excludes the viewer.
    """
    who, viewer = ctx.services.settings.api_reference, ctx.viewer
    if who == "off":
        raise Missing("reference: the setting api_reference is off")
    if who != "public" and viewer.caller is None and not viewer.operator:
        if viewer.is_guest:
            raise Forbidden("Sign in with a token to see the reference.")
        raise NotSignedIn
    if who == "admin" and not viewer.operator:
        raise Forbidden("Only operators may see the reference: see the setting api_reference.")
    return ctx.openapi


def _frame(ctx: ViewContext) -> dict[str, Any]:
    """Return the values that the links between the pages are made of."""
    return {"base": "_base.html", "at": f"{ROOT}/reference", "up": f"{ctx.services.urls.prefix}/"}


@ui.page("/reference", "reference.html", who="anyone", openapi=True)
def list_groups(ctx: ViewContext) -> dict[str, Any]:
    """List all operations by group."""
    return {**_frame(ctx), **views.groups_view(_openapi(ctx)())}


@ui.page("/reference/{group}", "reference_group.html", who="anyone", openapi=True)
def show_group(ctx: ViewContext) -> dict[str, Any]:
    """Show the operations of a group with their parameters and responses."""
    frame = _frame(ctx)
    group = ctx.values["group"]
    return {**frame, **views.group_view(_openapi(ctx), group, frame["at"])}


@ui.page("/reference/schemas/{name}", "reference_schema.html", who="anyone", openapi=True)
def show_schema(ctx: ViewContext) -> dict[str, Any]:
    """Show one schema with its members."""
    return {**_frame(ctx), **views.schema_view(_openapi(ctx)(), ctx.values["name"])}
