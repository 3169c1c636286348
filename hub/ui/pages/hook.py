"""One hook: its health, its deliveries, and the actions on it."""

import secrets
from typing import Any

import orjson

from hub.api.hooks.signing_keys import url_of
from hub.ingest import hook_events
from hub.ui.formatting import moment
from hub.ui.hook_form.shown_access import shown_access
from hub.ui.mail.hook_panel import hook_mail
from hub.ui.pages import deliveries
from hub.ui.pages.hooks import hook_state, marks
from hub.ui.section import ROOT, ActionResult, PanelUpdate, RenderedPage, Section
from hub.ui.view_context import ViewContext
from store import Row
from store.crypto import ed25519
from store.delivery import attempt_feed, event_queries, filtering
from store.delivery import deliveries as queue
from store.delivery.attempt_filter import AttemptFilter
from store.errors import Conflict
from store.hooks import hook_links, hook_secrets, hooks, signing_keys
from store.hooks.hook_targets import MANY_OWNERS, HookTarget, target_of
from store.monitoring import name_search
from store.ordering import operations
from store.pull import consumers
from store.repositories import repositories

ui = Section()

PATH = "/hooks/{hook_id}"
SHOWN = 25


@ui.page(PATH, "hook.html", who="guest")
def show_hook(ctx: ViewContext) -> dict[str, Any]:
    """Show a hook with its latest attempts."""
    hook, _ = ctx.viewer.hook(ctx.db, ctx.number("hook_id"))
    found = attempt_feed.page(ctx.db, _attempts(ctx, hook), limit=SHOWN)
    state = hook_state(ctx, hook)
    return {
        **state,
        "shown": ".".join(marks(state)),
        "host": name_search.host_of(hook["url"]),
        "filter": _shown_filter(hook),
        "access": shown_access(hook["options"]),
        "keys": _shown_keys(ctx, hook),
        "keys_url": url_of(ctx.services.urls, hook),
        "overlap": hook_secrets.previous_secret(ctx.db, hook),
        "attempts": [deliveries.attempt_row(row, ctx.now) for row in found.rows],
        "links": hook_links.list_active(ctx.db, hook["id"]) if state["may_change"] else [],
        "events": sorted(hook["events"]),
        "usual_event": filtering.usual_event(hook),
        **ordered_keys(ctx, hook),
        "consumers": consumers.of_hook(ctx.db, hook["id"]) if state["pulled"] else [],
        "mail": hook_mail(ctx, hook),
        "live": f"{ROOT}/hooks/{hook['id']}/live?after={found.rows[0]['id'] if found.rows else 0}",
    }


def _shown_filter(hook: Row) -> str:
    source = hook["options"].get("filter")
    return "" if source is None else orjson.dumps(source, option=orjson.OPT_INDENT_2).decode()


def _shown_keys(ctx: ViewContext, hook: Row) -> list[Row]:
    if not signing_keys.is_wanted(hook["options"]):
        return []
    return [
        {**row, "public": ed25519.write_public(signing_keys.public_bytes(row))}
        for row in signing_keys.public_keys(ctx.db, hook["id"])
    ]


def ordered_keys(ctx: ViewContext, hook: Row) -> dict[str, Any]:
    """Return the ordering of a hook, or None, and its keys that have something to send.

    Keys are values in payloads, so none are shown if payloads of some owners are hidden.
    """
    ordering = operations.overview(ctx.db, hook["id"])
    shown = ordering is not None and not _hidden_owners(ctx, hook)
    keys = operations.keys(ctx.db, hook["id"], SHOWN) if shown else []
    return {"ordering": ordering, "ordered_keys": keys}


@ui.live(f"{PATH}/live", who="guest")
def follow_hook(ctx: ViewContext, state: Any) -> tuple[Any, list[PanelUpdate]]:
    """Stream new attempts."""
    hook, _ = ctx.viewer.hook(ctx.db, ctx.number("hook_id"))
    return deliveries.new_attempts(ctx, _attempts(ctx, hook), state, hook)


def _attempts(ctx: ViewContext, hook: Row) -> AttemptFilter:
    return AttemptFilter(hook_id=hook["id"], hidden_owners=_hidden_owners(ctx, hook))


def _hidden_owners(ctx: ViewContext, hook: Row) -> list[int]:
    """Return the owners whose events to a hook they may not see."""
    return ctx.viewer.hidden_owners(ctx.db) if target_of(hook).kind in MANY_OWNERS else []


def changeable_hook(ctx: ViewContext) -> tuple[Row, Row | None, str]:
    """Return the hook, its repository if it belongs to one, and its page's path.

    Raises Missing or Forbidden if the viewer may not change the hook.
    """
    hook, repo = ctx.viewer.hook(ctx.db, ctx.number("hook_id"))
    ctx.viewer.check_change(ctx.db, hook)
    return hook, repo, f"{ROOT}/hooks/{hook['id']}"


def hook_with_example(ctx: ViewContext) -> tuple[Row, Row | None, str]:
    """Return a hook that the viewer may change, its examples' repository, and its page's path.

    The examples of a hook of an organization, or of the installation, are of the newest repository
    whose events it gets. The repository is None if the viewer may not see that one or if there is
    none, and for the hook of an app.
    """
    hook, repo, place = changeable_hook(ctx)
    return hook, repo or example_repository(ctx, target_of(hook)), place


def example_repository(ctx: ViewContext, target: HookTarget) -> Row | None:
    """Return the repository of the examples for a target's hooks, as `hook_with_example` does."""
    if target.kind == "repository":
        return ctx.viewer.repository(ctx.db, target.id)
    if target.kind == "app":
        # An account that installed it need not have accepted the event of the example.
        return None
    repo = repositories.newest(ctx.db, target.id or None)
    return repo if repo is not None and ctx.viewer.may_see_event(ctx.db, repo["id"]) else None


@ui.act(f"{PATH}/ping")
def ping_hook(ctx: ViewContext) -> ActionResult:
    """Send the hook a ping."""
    hook, _, place = changeable_hook(ctx)
    check_is_on(hook)
    hook_events.ping(ctx.context(("ping",)), hook)
    return ActionResult(place, "A ping has been queued. It appears below after the first attempt.")


@ui.act(f"{PATH}/test")
def test_hook(ctx: ViewContext) -> ActionResult:
    """Send the hook its repository's latest push once more."""
    hook, repo, place = changeable_hook(ctx)
    check_is_on(hook)
    if repo is None:
        raise Conflict("The hook belongs to no single repository, so it has no latest push.")
    latest = event_queries.latest(ctx.db, repo["id"], "push")
    if latest is None:
        raise Conflict("There is no push of this repository whose payload is still stored.")
    queue.redeliver(ctx.db, latest["id"], hook["id"], repo["id"])
    return ActionResult(place, "The latest push has been queued for redelivery.")


def check_is_on(hook: Row) -> None:
    """Raise Conflict if a hook is off."""
    if not hook["active"]:
        raise Conflict("The hook is off, so it receives nothing. Switch it on first.")


@ui.act(f"{PATH}/on")
def enable_hook(ctx: ViewContext) -> ActionResult:
    """Switch the hook on, and clear the reason why it was disabled."""
    hook, _, place = changeable_hook(ctx)
    hooks.update(ctx.db, hook, active=True)
    return ActionResult(
        place, "The hook is on. Pending deliveries are sent now.", fields=("active",)
    )


@ui.act(f"{PATH}/off")
def disable_hook(ctx: ViewContext) -> ActionResult:
    """Switch the hook off."""
    hook, _, place = changeable_hook(ctx)
    hooks.update(ctx.db, hook, active=False)
    return ActionResult(place, "The hook is off: it receives no events.", fields=("active",))


@ui.act(f"{PATH}/secret")
def rotate_secret(ctx: ViewContext) -> RenderedPage:
    """Give the hook a new secret, which is shown only this once.

    The old one also signs for another day.
    """
    hook = hooks.lock(ctx.db, changeable_hook(ctx)[0])
    _refuse_third(hook_secrets.overlap_end(ctx.db, hook), "secret")
    value = secrets.token_hex(32)
    had = hook["secret"] is not None
    hook = hooks.update(ctx.db, hook, secret=value, overlap=hook_secrets.OVERLAP)
    values = {"hook": hook, "secret": value, "had": had, "until": hook["previous_until"]}
    return RenderedPage("secret.html", values)


def _refuse_third(until: int | None, noun: str) -> None:
    """Raise Conflict if an overlap runs: a third secret or key would replace the former one."""
    if until is not None:
        raise Conflict(
            f"The former {noun} still signs until {moment(until)}. End the overlap first, then"
            f" create a new {noun}."
        )


@ui.act(f"{PATH}/secret/end")
def end_overlap(ctx: ViewContext) -> ActionResult:
    """End the overlap of the hook's secrets, so that only the new one signs."""
    hook, _, place = changeable_hook(ctx)
    hooks.update(ctx.db, hook, overlap=0)
    return ActionResult(place, "From now on only the new secret signs.", fields=("overlap",))


@ui.act(f"{PATH}/key")
def rotate_key(ctx: ViewContext) -> ActionResult:
    """Give the hook a new signing key. The old one also signs for another day."""
    hook, _, place = changeable_hook(ctx)
    hook = hooks.lock(ctx.db, hook)
    _refuse_third(signing_keys.overlap_end(ctx.db, hook["id"]), "key")
    signing_keys.rotate(ctx.db, hook)
    return ActionResult(place, "The new key signs from now on.", fields=("key",))


@ui.act(f"{PATH}/key/end")
def end_key_overlap(ctx: ViewContext) -> ActionResult:
    """End the overlap of the hook's keys, so that only the new one signs."""
    hook, _, place = changeable_hook(ctx)
    signing_keys.end_overlap(ctx.db, hook)
    return ActionResult(place, "From now on only the new key signs.", fields=("key",))
