"""The dry run of a hook's filter."""

from typing import Any

import orjson

from hub.api.hooks.hook_filters import stored_document
from hub.http.body import read_object
from hub.http.errors import Malformed
from hub.http.numbers import natural
from hub.ingest import event_envelope
from hub.ui.pages.hook import PATH, changeable_hook
from hub.ui.section import Refusal, RenderedPage, Section, refusal_messages
from hub.ui.view_context import ViewContext
from store import Row
from store.delivery import event_queries, events, filtering
from store.errors import Conflict, Invalid
from store.filters.dry_run import TermResult
from store.hooks.hook_targets import MANY_OWNERS, target_of

ui = Section()

TEMPLATE = "filter_test.html"


def _prepare(ctx: ViewContext) -> dict[str, Any]:
    """Return the verdict on an event. A filter may take seconds, for which no write may wait."""
    hook, repo, place = changeable_hook(ctx)
    filter_ = filtering.filter_of(hook)
    title, document = _document(ctx, hook, repo)
    verdict = filtering.test(filter_, document)
    return {
        **_form(ctx, hook, place),
        "title": title,
        "matches": verdict.matches,
        "failed": [_row(one) for one in verdict.failed],
        "matched": [_row(one) for one in verdict.matched],
    }


def _form(ctx: ViewContext, hook: Row, place: str) -> dict[str, Any]:
    """Return the values of the page, with the form as it was sent."""
    given = {name: ctx.form.get(name, "") for name in ("event", "payload")}
    return {"hook": hook, "back": place, "title": "", "given": given, "wrong": {}}


def _show_again(ctx: ViewContext, error: Refusal) -> RenderedPage:
    hook, _, place = changeable_hook(ctx)
    wrong = refusal_messages(error, "payload")
    return RenderedPage(TEMPLATE, {**_form(ctx, hook, place), "wrong": wrong})


@ui.act(f"{PATH}/filter", prepare=_prepare, refused=_show_again, computes=True)
def test_filter(ctx: ViewContext) -> RenderedPage:
    """Show which conditions of the filter an event satisfies. Nothing is sent."""
    return RenderedPage(TEMPLATE, ctx.prepared)


def _document(ctx: ViewContext, hook: Row, repo: Row | None) -> tuple[str, filtering.Document]:
    """Return what is tested, and its title: the pasted payload, the named or the latest event."""
    text = ctx.form.get("payload", "").strip()
    if text:
        try:
            payload = read_object(text.encode())
        except Malformed as error:
            raise Invalid(f"The payload cannot be read: {error}.", field="payload") from None
        name, action = filtering.usual_event(hook), event_envelope.action_of(payload)
        return f"this payload, as the event {name}", filtering.pasted(name, action, payload)
    given = ctx.form.get("event", "").strip()
    number = natural(given) if given else _latest(ctx, hook, repo)
    if number is None:
        text = f"{given[:100]!r} is not the id of an event, which is a number."
        raise Invalid(text, field="event")
    _check_owner(ctx, hook, number)
    return f"event {number}", stored_document(ctx.db, hook, number)


def _check_owner(ctx: ViewContext, hook: Row, event_id: int) -> None:
    """Check that they may see the owner of an event, which not every hook shows.

    Raises Missing or Forbidden.
    """
    event = events.get(ctx.db, event_id)
    if event is not None and target_of(hook).kind in MANY_OWNERS:
        ctx.viewer.left_of(ctx.db, event["repo_id"], event["org_id"])


def _latest(ctx: ViewContext, hook: Row, repo: Row | None) -> int:
    if repo is None:
        raise Conflict(
            "The hook belongs to no single repository. Paste a payload, or give an event's id."
        )
    latest = event_queries.latest(ctx.db, repo["id"], filtering.usual_event(hook))
    if latest is None:
        raise Conflict("The repository has no such event yet. Paste a payload.")
    return int(latest["id"])


def _row(term: TermResult) -> dict[str, Any]:
    return {
        "path": term.path,
        "operator": term.operator,
        "expected": _text(term.expected),
        "found": term.error or ", ".join(map(_text, term.found)) or "nothing",
    }


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()
