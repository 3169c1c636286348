"""The page of the links between users and OpenID Connect subjects, and the end of a link."""

from operator import itemgetter
from typing import Any

from hub.settings import HubSettings
from hub.ui.lists import filters
from hub.ui.lists.frame import filter_values
from hub.ui.lists.newest import Keys, NewestList
from hub.ui.lists.sorting import Sorting
from hub.ui.section import ROOT, ActionResult, Section
from hub.ui.view_context import ViewContext
from hub.ui.viewer import DashboardViewer
from store.errors import existing
from store.openid import openid_links


def _is_offered(settings: HubSettings, viewer: DashboardViewer) -> bool:
    return settings.openid_issuer is not None


ui = Section("OpenID links", "/openid-links", "operator", _is_offered, second=True)

LONGEST = 300
KEYS: Keys = {
    "linked": itemgetter("id"),
    "used": lambda row: row["used_at"] or 0,
    "login": itemgetter("login"),
    "subject": itemgetter("subject"),
}
LIST = NewestList(
    f"{ROOT}/openid-links",
    Sorting("-linked", login=False, subject=False, used=True, linked=True),
    KEYS,
    size=50,
)


@ui.page("/openid-links", "openid_links.html", who="operator")
def list_openid_links(ctx: ViewContext) -> dict[str, Any]:
    """List the links."""
    asked = filters.period(ctx)
    chosen = {"name": ctx.asked("name", LONGEST), **asked.chosen}
    rows, values = LIST.page(
        ctx,
        chosen,
        lambda limit, before: openid_links.page(
            ctx.db, limit=limit, before=before, text=chosen["name"], times=asked.times
        ),
        lambda: openid_links.count(ctx.db, chosen["name"], asked.times),
    )
    return {
        **values,
        "links": rows,
        "may_run": ctx.viewer.may_run,
        **filter_values(chosen, asked),
    }


@ui.act("/openid-links/{link_id}/remove", who="operator")
def remove_openid_link(ctx: ViewContext) -> ActionResult:
    """Remove a link, and end the sessions that a provider opened for its user."""
    ctx.viewer.check_run()
    link = existing(openid_links.get(ctx.db, ctx.number("link_id")), "link")
    openid_links.remove(ctx.db, link)
    notice = f"The link of {link['login']} is removed, and the sessions it opened have ended."
    return ActionResult(LIST.path, notice, ids={"user": link["login"], "openid_link": link["id"]})
