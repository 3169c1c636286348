"""Sending an event to one hook alone: an example, or a payload of one's own."""

from typing import Any

import orjson

from hub.http.body import read_object
from hub.http.errors import Malformed
from hub.http.json_excerpt import excerpt
from hub.ingest import event_envelope
from hub.ui.catalog.examples import example_of
from hub.ui.hook_form.trial import EVENTS
from hub.ui.pages.hook import PATH, changeable_hook, check_is_on, hook_with_example
from hub.ui.section import ActionResult, Refusal, RenderedPage, Section, refusal_messages
from hub.ui.view_context import ViewContext
from store import Row, json_bytes
from store.database import uuid7
from store.delivery import event_fields, outbox
from store.errors import Invalid, Unusable
from store.hooks import hooks, option_secrets, signing_keys
from store.hooks.hook_options import DeliveryOptions
from store.hooks.hook_targets import target_of
from store.hooks.trial import TrialAnswer, TrialRequest

ui = Section()

TEMPLATE = "hook_send.html"
# The limit of an example with indents in the form. A longer one is shown without them.
MOST_INDENTED = 512 * 1024


def _event(hook: Row, named: str) -> str:
    """Return the event that is named, or one that the hook subscribes to."""
    if named in EVENTS:
        return named
    return next((name for name in hook["events"] if name in EVENTS), "push")


def _values(ctx: ViewContext, hook: Row, event: str, payload: str, origin: str) -> dict[str, Any]:
    return {
        "hook": hook,
        "events": EVENTS,
        "event": event,
        "subscribed": event in hook["events"] or "*" in hook["events"],
        "payload": payload,
        "origin": origin,
        "request": _request(ctx, hook, event, payload),
        "wrong": {},
    }


def _request(ctx: ViewContext, hook: Row, event: str, payload: str) -> TrialAnswer | None:
    """Return the request that the hook would get, or None if it cannot be built."""
    trials, body = ctx.services.trials, _body(payload)
    if trials is None or body is None:
        return None
    try:
        secret = hooks.secret_of(ctx.db, hook)
        keys = signing_keys.wanted_keys(ctx.db, hook["id"], hook["options"])
    except Unusable:
        return None
    # The request does not depend on the filter, which new rules may refuse.
    options = option_secrets.revealed(ctx.db, hook) | {"filter": None}
    return trials.build(
        TrialRequest(
            repo_id=hook["repo_id"] or 0,
            target=target_of(hook),
            url=hook["url"],
            content_type=hook["content_type"],
            insecure_ssl=bool(hook["insecure_ssl"]),
            secret=secret,
            event=event,
            guid=uuid7.new(),
            body=body,
            hook_id=hook["id"],
            keys=keys,
            options=DeliveryOptions.model_validate(options),
            repository=event_fields.own_repository(ctx.db, hook["repo_id"] or 0, body),
        )
    )


def _body(payload: str) -> bytes | None:
    """Return the payload as it would be sent, or None if it is no JSON."""
    try:
        return _encoded(orjson.loads(payload))
    except (orjson.JSONDecodeError, Invalid):
        return None


def _encoded(payload: object) -> bytes:
    """Return the payload as JSON. Raises Invalid if it is nested too deeply."""
    try:
        return orjson.dumps(payload)
    except orjson.JSONEncodeError:  # a TypeError, which other code may raise by mistake
        raise Invalid("The payload is nested too deeply.", field="payload") from None


@ui.page(f"{PATH}/send", TEMPLATE)
def plan_send(ctx: ViewContext) -> dict[str, Any]:
    """Show an example of an event, and the request that would carry it."""
    hook, repo, _ = hook_with_example(ctx)
    event = _event(hook, ctx.asked("event", 100))
    example = example_of(ctx, repo, event)
    text, is_cut = excerpt(example.body, MOST_INDENTED)
    text = example.body.decode() if is_cut else text
    return _values(ctx, hook, event, text, example.origin)


def _prepare(ctx: ViewContext) -> dict[str, Any]:
    """Return the payload in the form. Raises Invalid if it is no JSON object."""
    changeable_hook(ctx)
    if ctx.form.get("event") not in EVENTS:
        raise Invalid("There is no such event.", field="event")
    try:
        payload = read_object(ctx.form.get("payload", "").encode())
    except Malformed as error:
        raise Invalid(f"{error}.", field="payload") from None
    _encoded(payload)
    return payload


def _show_again(ctx: ViewContext, error: Refusal) -> RenderedPage:
    hook, _, _ = changeable_hook(ctx)
    payload, event = ctx.form.get("payload", ""), ctx.form.get("event", "")
    values = _values(ctx, hook, _event(hook, event), payload, "yours")
    return RenderedPage(TEMPLATE, {**values, "wrong": refusal_messages(error, "payload")})


@ui.act(f"{PATH}/send", prepare=_prepare, refused=_show_again)
def send_event(ctx: ViewContext) -> ActionResult:
    """Send the payload to this hook alone, as an event of the hook's own target."""
    hook, _, place = changeable_hook(ctx)
    check_is_on(hook)
    receipt = outbox.send_example(
        ctx.db,
        ctx.form["event"],
        event_envelope.action_of(ctx.prepared),
        # An event of the example's repository would be shown to this repository's administrators.
        hook["repo_id"] or 0,
        json_bytes.dumps(ctx.prepared),
        hook["id"],
        org_id=hook["org_id"] or 0,
    )
    return ActionResult(
        place,
        "The event has been queued for this hook alone. It appears below after the first attempt.",
        ids={"hook": hook["id"], "event": receipt.event_id},
    )
