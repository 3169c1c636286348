"""The page of the viewer's own sessions, and the actions that end them."""

from hub.http.errors import Forbidden
from hub.ui.section import ROOT, ActionResult, Section
from hub.ui.view_context import ViewContext
from store.accounts import sessions, tokens
from store.clock import SECOND
from store.errors import Missing

ui = Section()
PATH = f"{ROOT}/sessions"
OF_APP = "An app's token shows no sessions of its user. Sign in with a token of your own."
METHODS = {
    "token": "token",
    "openid": "OpenID Connect",
    "administrator": "administrators' token",
    "link": "link",
}


@ui.page("/sessions", "sessions.html")
def list_sessions(ctx: ViewContext) -> dict[str, object]:
    """List the viewer's sessions, the last used one first."""
    own = "" if ctx.session is None else tokens.digest(ctx.session)
    idle = ctx.services.settings.ui_idle * SECOND
    return {
        "rows": sessions.owned(ctx.db, _owner(ctx), idle),
        "methods": METHODS,
        "own": own[: sessions.SHOWN],
    }


@ui.act("/sessions/{shown_id}/end")
def end_session(ctx: ViewContext) -> ActionResult:
    """End one session."""
    if not sessions.end_owned(ctx.db, _owner(ctx), ctx.values["shown_id"]):
        raise Missing("session")
    return ActionResult(PATH, "The session has ended.")


@ui.act("/sessions/end-others")
def end_other_sessions(ctx: ViewContext) -> ActionResult:
    """End all sessions but this one."""
    many = sessions.end_others(ctx.db, _owner(ctx), ctx.session or "")
    return ActionResult(PATH, f"{many} other session{'' if many == 1 else 's'} ended.")


def _owner(ctx: ViewContext) -> int | str:
    """Return the user's id, or the mark of the administrators' token.

    Raises Missing for a guest, whose link belongs to nobody, and Forbidden for an app, which must
    not learn from where its user signs in.
    """
    if ctx.viewer.is_app:
        raise Forbidden(OF_APP)
    if ctx.viewer.caller is not None:
        return ctx.viewer.caller.account_id
    if ctx.session is None or not ctx.viewer.operator:
        raise Missing("session")
    return sessions.operator_of(ctx.db, ctx.session)
