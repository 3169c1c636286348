"""The page behind the links in mails: a form that unsubscribes, without JavaScript or signing in.

Mail programs unsubscribe with one request (RFC 8058). GET changes nothing, because mail filters
follow links.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hub.http.errors import Forbidden, Malformed
from hub.http.forms import Form, read_form
from hub.http.response import Response
from hub.http.routing import Routes
from hub.mail import links
from hub.rest.context import Services
from hub.rest.middleware import wrap
from hub.rest.request import Request
from hub.ui.headers import PAGE
from hub.ui.templating import render
from store import Connection
from store.accounts import accounts
from store.mail import subscriptions

MOST_FORM = 4096
UNCLEAR = "the form says neither that you unsubscribe nor that you subscribe again"
Change = Callable[[Connection, int, tuple[int, ...]], int]


def add(services: Services, routes: Routes) -> None:
    """Serve the page."""
    path = services.urls.prefix + links.PATH
    routes.add("GET", path, wrap(services, partial(_unsubscribe_page, services)))
    routes.add("POST", path, wrap(services, partial(_change, services)))


async def _unsubscribe_page(services: Services, request: Request) -> Response:
    return _page(services, await services.store.read(_follow, request.query, None))


async def _change(services: Services, request: Request) -> Response:
    raw = await services.body_reader.read_and_release(request, MOST_FORM)
    change = _wanted(read_form(raw, request.scope))
    shown = await services.store.read(_follow, request.query, None)
    # A request without a valid link must not cause a write.
    if not shown["refused"]:
        shown = await services.store.write(_follow, request.query, change)
    return _page(services, shown)


def _wanted(form: Form) -> Change:
    """Return the change that a form asks for. Raises Malformed if it asks for none."""
    if form.get("action") == "subscribe":
        return subscriptions.subscribe
    field, value = links.ONE_CLICK
    if form.get("action") == "unsubscribe" or form.get(field) == value:
        return subscriptions.unsubscribe
    raise Malformed(UNCLEAR)


def _follow(db: Connection, query: Mapping[str, str], change: Change | None) -> dict[str, Any]:
    """Apply the change. Return what the page shows then."""
    try:
        wanted = links.followed(db, query)
    except Forbidden as error:
        return {"refused": str(error), "account_gone": False}
    if accounts.get(db, wanted.account_id) is None:
        return {"refused": "", "account_gone": True}
    if change is not None:
        change(db, wanted.account_id, wanted.hook_ids)
    left = subscriptions.unsubscribed(db, wanted.account_id, wanted.hook_ids)
    return {
        "refused": "",
        "account_gone": False,
        "changed": change is not None,
        "hooks": [*subscriptions.names_of(db, wanted.account_id, wanted.hook_ids).values()],
        "subscribed": len(left) < len(wanted.hook_ids),
    }


def _page(services: Services, values: dict[str, Any]) -> Response:
    frame = {"up": "../", "dashboard": services.settings.ui, "has_reference": False, "place": ""}
    body = render("unsubscribe.html", frame | values).encode()
    return Response(403 if values["refused"] else 200, body, [*PAGE])
