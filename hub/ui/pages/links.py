"""Temporary read-only links to one hook, for the developer of its receiver."""

from hub.ui import cookies
from hub.ui.pages.hook import PATH, changeable_hook
from hub.ui.section import ROOT, ActionResult, RenderedPage, Section
from hub.ui.view_context import ViewContext
from store import Row
from store.accounts import sessions
from store.clock import DAY
from store.errors import Invalid, Missing, existing
from store.hooks import hook_links

ui = Section()

DAYS = (1, 7, 30)
GONE = "this link: it has expired or was revoked"


@ui.act(f"{PATH}/links")
def make_link(ctx: ViewContext) -> RenderedPage:
    """Create a link. It is shown only this once."""
    hook, _, _ = changeable_hook(ctx)
    days = ctx.form.get("days", str(DAYS[1]))
    if days not in map(str, DAYS):
        raise Invalid("A link lasts 1, 7 or 30 days.", field="days", resource="Link")
    value, link = hook_links.create(
        ctx.db, hook["id"], ctx.form.get("note", "").strip(), ctx.viewer.name, int(days) * DAY
    )
    # The value is in the query string, because the log of requests leaves that out.
    place = f"{ctx.origin}{ROOT}/shared?link={value}"
    return RenderedPage("link.html", {"hook": hook, "link": link, "place": place})


@ui.act(f"{PATH}/links/{{link_id}}/end")
def end_link(ctx: ViewContext) -> ActionResult:
    """Revoke a link, also for visitors who are using it."""
    hook, _, place = changeable_hook(ctx)
    if not hook_links.revoke(ctx.db, hook["id"], ctx.number("link_id")):
        raise Missing(GONE)
    return ActionResult(place, "The link no longer works.", ids={"id": ctx.number("link_id")})


@ui.page("/shared", "shared.html", who="anyone")
def show_link(ctx: ViewContext) -> dict[str, object]:
    """Show where a link leads before it is used."""
    value = ctx.asked("link")
    link = _found(ctx, value)
    return {"link": link, "value": value, "mine": _may_see(ctx, link)}


@ui.act("/shared", who="anyone")
def use_link(ctx: ViewContext) -> ActionResult:
    """Begin a session that may view the hook, unless the viewer may see it anyway."""
    link = _found(ctx, ctx.form.get("link", ""))
    if _may_see(ctx, link):
        place = f"{ROOT}/hooks/{link['hook_id']}"
        return ActionResult(place, "You may see this hook without the link, so you stay signed in.")
    # The browser forgets the cookie of its former session. This leaves room for the next one.
    sessions.end(ctx.db, ctx.session or "")
    origin = sessions.SignInOrigin("link")
    value = sessions.begin(ctx.db, link_id=link["id"], until=link["expires_at"], origin=origin)
    place = f"{ROOT}/hooks/{link['hook_id']}"
    return ActionResult(
        place, "You may view this hook until the link ends.", cookies={cookies.SESSION: value}
    )


def _may_see(ctx: ViewContext, link: Row) -> bool:
    """Return whether the viewer is signed in as somebody who may see the link's hook."""
    if ctx.viewer.caller is None and not ctx.viewer.operator:
        return False
    return ctx.viewer.may_see(ctx.db, link["hook_id"])


def _found(ctx: ViewContext, value: str) -> Row:
    return existing(hook_links.get_by_value(ctx.db, value), GONE)
