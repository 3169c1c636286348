"""Alerts by mail: the viewer's subscriptions, and for operators the mails and a test message."""

from typing import Any

from hub.admin.administrators import RUN
from hub.api.hooks.hook_access import WRITE
from hub.http.errors import Forbidden
from hub.ui.mail.hook_panel import check_on
from hub.ui.section import ROOT, ActionResult, Section
from hub.ui.view_context import ViewContext
from store.accounts import email_address
from store.errors import Conflict, Invalid
from store.jobs import jobs
from store.mail import notices, outbox, receivers, subscriptions

ui = Section()

PATH = "/mail"
SHOWN = 50
MARKS = {
    outbox.SENT: "good",
    outbox.WAITING: "none",
    outbox.DELAYED: "warn",
    outbox.FAILED: "bad",
}


@ui.page(PATH, "mail.html")
def show_mail(look: ViewContext) -> dict[str, Any]:
    """Show where the viewer gets mail, and to operators the latest mails."""
    settings, caller = look.services.settings, look.viewer.caller
    account_id = None if caller is None else caller.account_id
    return {
        "on": settings.mail_host is not None,
        "server": settings.mail_host if look.viewer.operator else None,
        "person": account_id is not None,
        "address": None if account_id is None else receivers.address_of(look.db, account_id),
        "left": [] if account_id is None else subscriptions.list_left(look.db, account_id),
        "mails": _mails(look) if look.viewer.operator else [],
        "may_run": look.viewer.may_run,
    }


def _mails(look: ViewContext) -> list[dict[str, Any]]:
    return [row | {"mark": MARKS[row["state"]]} for row in notices.list_mails(look.db, SHOWN)]


@ui.act(f"{PATH}/test", who="operator")
def send_test(look: ViewContext) -> ActionResult:
    """Send a test message."""
    if not look.viewer.may_run:
        raise Forbidden(f"Sending mail requires a token with the scope {RUN[0]}.")
    check_on(look)
    try:
        address = email_address.normalize(look.form.get("address", "").strip())
    except ValueError as error:
        raise Invalid(f"This is no email address: {error}.") from None
    outbox.add(look.db, outbox.TEST, address)
    jobs.notify_worker(look.db)
    return ActionResult(
        f"{ROOT}{PATH}", "The message is on its way. Reload the page to see the server's answer."
    )


@ui.act(f"{PATH}/subscribe")
def subscribe_again(look: ViewContext) -> ActionResult:
    """Send the viewer mail about a hook again."""
    look.viewer.check_token(WRITE)
    caller = look.viewer.caller
    number = look.form.get("hook", "")
    if caller is None or not (number.isascii() and number.isdigit() and len(number) < 19):
        raise Conflict("There is nothing to subscribe to.")
    subscriptions.subscribe(look.db, caller.account_id, [int(number)])
    return ActionResult(f"{ROOT}{PATH}", "You get mail about it again.", ids={"id": int(number)})
