"""Saving the filters of a list under a name, and removing such a view."""

from urllib.parse import parse_qsl

from hub.http.errors import Forbidden
from hub.ui.lists.paging import query
from hub.ui.lists.views import LISTS, account_of
from hub.ui.section import ActionResult, Section
from hub.ui.view_context import ViewContext
from store.accounts import saved_views
from store.errors import Missing

ui = Section()


@ui.act("/views")
def save_view(ctx: ViewContext) -> ActionResult:
    """Save the filters of a list."""
    page = ctx.form.get("page", "")
    if page not in LISTS:
        raise Missing("list")
    shared = ctx.form.get("shared") == "1"
    if shared and not ctx.viewer.may_run:
        raise Forbidden("Only operators of the installation can share a view with everybody.")
    asked = query(dict(parse_qsl(ctx.form.get("query", ""))))
    name = " ".join(ctx.form.get("name", "").split())
    made = saved_views.save(ctx.db, account_of(ctx), page, name, asked, shared=shared)
    return ActionResult(f"{page}?{asked}", f"The view {name} has been saved.", ids={"view": made})


@ui.act("/views/{view_id}/remove")
def remove_view(ctx: ViewContext) -> ActionResult:
    """Remove a saved view."""
    row = saved_views.remove(
        ctx.db, account_of(ctx), ctx.number("view_id"), every=ctx.viewer.may_run
    )
    return ActionResult(
        row["page"], f"The view {row['name']} has been removed.", ids={"view": row["id"]}
    )
