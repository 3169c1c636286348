"""Alerts by mail: the viewer's subscriptions, and for operators the mails and a test message."""

from operator import itemgetter
from typing import Any

from hub.api.accounts.emails import READ as ADDRESSES
from hub.http import numbers
from hub.ui.lists import filters
from hub.ui.lists.frame import filter_values
from hub.ui.lists.newest import NewestList
from hub.ui.lists.sorting import Sorting
from hub.ui.mail.hook_panel import check_on
from hub.ui.section import ROOT, ActionResult, Section
from hub.ui.view_context import ViewContext
from hub.ui.visible_owners import may
from store.accounts import email_address
from store.errors import Conflict, Invalid
from store.jobs import jobs
from store.mail import notices, outbox, receivers, subscriptions

ui = Section()

PATH = "/mail"
LIST = NewestList(
    f"{ROOT}{PATH}",
    Sorting("-made", to=False, state=False, attempts=True, made=True),
    {
        "to": itemgetter("address"),
        "state": itemgetter("state"),
        "attempts": itemgetter("attempts"),
        "made": itemgetter("id"),
    },
    size=50,
)
MARKS = {
    outbox.SENT: "good",
    outbox.WAITING: "none",
    outbox.DELAYED: "warn",
    outbox.FAILED: "bad",
}


@ui.page(PATH, "mail.html")
def show_mail(ctx: ViewContext) -> dict[str, Any]:
    """Show where the viewer gets mail, and to operators the latest mails."""
    settings = ctx.services.settings
    return {
        "on": settings.mail_host is not None,
        "server": settings.mail_host if ctx.viewer.operator else None,
        "person": ctx.viewer.caller is not None,
        **_own(ctx),
        **_mails(ctx),
        "may_run": ctx.viewer.may_run,
    }


def _own(ctx: ViewContext) -> dict[str, Any]:
    """Return the viewer's address, and the hooks from which they have unsubscribed.

    As in the API, the token must have the right to read each of them.
    """
    caller = ctx.viewer.caller
    if caller is None:
        return {"has_address": False, "address": None, "left": []}
    address = receivers.address_of(ctx.db, caller.account_id)
    left = subscriptions.list_left(ctx.db, caller.account_id)
    seen = {0, *ctx.viewer.visible(ctx.db, [one["hook_id"] for one in left])}
    return {
        "has_address": address is not None,
        "address": address if may(caller, ADDRESSES) else None,
        "left": [one for one in left if one["hook_id"] in seen],
    }


def _mails(ctx: ViewContext) -> dict[str, Any]:
    """Return a page of the mails, which operators see, and the values about their list."""
    asked = filters.period(ctx)
    rows, values = LIST.page(
        ctx,
        asked.chosen,
        lambda limit, before: (
            notices.list_mails(ctx.db, limit, before, asked.times) if ctx.viewer.operator else []
        ),
        lambda: outbox.count(ctx.db, asked.times),
    )
    return {
        **values,
        "mails": [row | {"mark": MARKS[row["state"]]} for row in rows],
        **filter_values(asked.chosen, asked),
    }


@ui.act(f"{PATH}/test", who="operator")
def send_test(ctx: ViewContext) -> ActionResult:
    """Send a test message."""
    ctx.viewer.check_run("Sending mail")
    check_on(ctx)
    try:
        address = email_address.normalize(ctx.form.get("address", "").strip())
    except ValueError as error:
        raise Invalid(f"This is no email address: {error}.") from None
    outbox.add(ctx.db, outbox.TEST, address)
    jobs.notify_worker(ctx.db)
    return ActionResult(
        f"{ROOT}{PATH}", "The message is on its way. Reload the page to see the server's answer."
    )


@ui.act(f"{PATH}/subscribe")
def subscribe_again(ctx: ViewContext) -> ActionResult:
    """Send the viewer mail about a hook again."""
    ctx.viewer.check_change_any()
    caller = ctx.viewer.caller
    hook_id = numbers.natural(ctx.form.get("hook", ""))
    if caller is None or hook_id is None:
        raise Conflict("There is nothing to subscribe to.")
    subscriptions.subscribe(ctx.db, caller.account_id, [hook_id])
    return ActionResult(f"{ROOT}{PATH}", "You get mail about it again.", ids={"id": hook_id})
