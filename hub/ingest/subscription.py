"""Subscriptions: the changes to a repository's hooks that `POST /hub` and the command line make."""

from dataclasses import dataclass, field

from hub.ingest import hook_events
from hub.rest.context import Context
from store import Connection, Row
from store.errors import Invalid
from store.hooks import hook_secrets, hooks
from store.hooks.event_names import HUB_EVENTS, PLATFORM_EVENTS, WILDCARD

MOST_SECRET, MOST_URL = 1024, 2048


@dataclass(slots=True)
class Subscription:
    """A callback that wants one event of a repository.

    If `secret` is None, the hook's secret stays. An empty one removes it.
    """

    event: str
    callback: str
    json: bool
    secret: str | None = field(repr=False)


def check(wanted: Subscription) -> None:
    """Raise Invalid if the event is unknown, or if the callback or the secret is too long."""
    if len(wanted.callback) > MOST_URL:
        raise Invalid(f"hub.callback is longer than {MOST_URL} characters")
    if wanted.secret is not None and len(wanted.secret.encode()) > MOST_SECRET:
        raise Invalid(f"hub.secret is longer than {MOST_SECRET} bytes")
    if wanted.event != WILDCARD and wanted.event not in PLATFORM_EVENTS | HUB_EVENTS:
        raise Invalid(f'Invalid event: "{wanted.event[:100]}"')


def subscribe(ctx: Context, repo: Row, wanted: Subscription, most: int) -> Row:
    """Change the repository's hook for the subscription, or create one and send it a ping.

    Return the hook. `most` limits the hooks that one event may have (0: no limit).
    """
    hook = find(ctx.db, repo, wanted)
    if hook is not None:
        return _change(ctx.db, hook, wanted, most)
    hook = _create(ctx.db, repo, wanted, most)
    hook_events.ping(ctx, hook)
    return hook


def find(db: Connection, repo: Row, wanted: Subscription) -> Row | None:
    """Return the repository's hook that the subscription changes, or None if it needs a new one.

    A hook that lacks the event must have the wanted format and secret: its other events keep them.
    A hook with `*` has every event.
    """
    found = hooks.of_url(db, repo["id"], wanted.callback)
    kind = _content_type(wanted)
    found.sort(key=lambda row: (not _has_event(row, wanted), row["content_type"] != kind))
    return next((row for row in found if _suits(db, row, wanted)), None)


def _has_event(hook: Row, wanted: Subscription) -> bool:
    return bool({wanted.event, WILDCARD} & {*hook["events"]})


def _suits(db: Connection, hook: Row, wanted: Subscription) -> bool:
    if _has_event(hook, wanted):
        return True
    if hook["content_type"] != _content_type(wanted):
        return False
    return wanted.secret is None or hook_secrets.has_secret(db, hook, wanted.secret)


def unsubscribe(ctx: Context, repo: Row, wanted: Subscription) -> Row | None:
    """Remove the event from the hook with this callback, and the hook if that was its last event.

    Return the hook as it was, or None if there was none.
    """
    hook = _subscribed(ctx.db, repo, wanted)
    if hook is not None:
        _remove(ctx, hook, wanted.event)
    return hook


def _subscribed(db: Connection, repo: Row, wanted: Subscription) -> Row | None:
    """Return the hook with the event, or else one with every event; None if there is none."""
    kind = _content_type(wanted)
    found = hooks.of_url(db, repo["id"], wanted.callback)
    found.sort(key=lambda row: row["content_type"] != kind)
    names = (wanted.event, WILDCARD)
    return next((row for name in names for row in found if name in row["events"]), None)


def _content_type(wanted: Subscription) -> str:
    return "json" if wanted.json else "form"


def _create(db: Connection, repo: Row, wanted: Subscription, most: int) -> Row:
    return hooks.create(
        db,
        repo["id"],
        url=wanted.callback,
        events=[wanted.event],
        content_type=_content_type(wanted),
        secret=wanted.secret,
        most=most,
    )


def _change(db: Connection, hook: Row, wanted: Subscription, most: int) -> Row:
    kept = {} if wanted.secret is None else {"secret": wanted.secret}
    return hooks.update(
        db,
        hook,
        events=[*hook["events"], wanted.event],
        content_type=_content_type(wanted),
        active=True,
        most=most,
        **kept,
    )


def _remove(ctx: Context, hook: Row, event: str) -> None:
    left = [name for name in hook["events"] if name != event]
    if len(left) == len(hook["events"]):
        if WILDCARD in left:
            raise Invalid('The hook receives every event: unsubscribe it from "*"')
    elif left:
        hooks.update(ctx.db, hook, events=left)
    else:
        hook_events.delete(ctx, hook)
