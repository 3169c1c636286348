"""Subscriptions of hooks to events: the names that a hook may list, and those that find it."""

from collections.abc import Collection, Iterable

from store.database.connection import Connection, Row
from store.errors import Invalid
from store.hooks import app_subscriptions
from store.hooks.event_names import (
    FITTING,
    HUB_EVENTS,
    OWN,
    PLATFORM_EVENTS,
    WILDCARD,
)
from store.hooks.hook_targets import HookKind, HookTarget, target_of


def check_events(events: Iterable[str], kind: HookKind, before: Collection[str] = ()) -> list[str]:
    """Return the events without repetitions.

    Raises Invalid if a hook of this kind cannot subscribe to one that it did not have `before`, or
    if there are none. The hook of an app needs none, because it gets events about the app in any
    case.
    """
    chosen = list(dict.fromkeys(events))
    if not chosen and kind != "app":
        raise Invalid("a hook needs at least one event", field="events", resource="Hook")
    for name in chosen:
        if name not in {WILDCARD, *before} | FITTING[kind] | OWN[kind]:
            known = name in PLATFORM_EVENTS | HUB_EVENTS
            why = f": no hook of this {kind} can get it" if known else ""
            raise Invalid(f'Invalid event: "{name}"{why}', field="events", resource="Hook")
    return chosen


def sync(db: Connection, hook: Row) -> Row:
    """Update the subscriptions to match the hook. Return the hook."""
    target = target_of(hook)
    if target.kind == "app":
        app_subscriptions.sync(db, target.id)
        return hook
    remove(db, hook)
    if hook["active"]:
        table, column = target.subscribed
        db.insert_many(
            table,
            f"{column}, event, hook_id",
            [(target.id, name, hook["id"]) for name in _subscribed(hook, target)],
        )
    return hook


def _subscribed(hook: Row, target: HookTarget) -> list[str]:
    """Return the names under which the hook's events find it."""
    if WILDCARD not in hook["events"]:
        return list(hook["events"])
    own = [name for name in hook["events"] if name in HUB_EVENTS]
    # An owner's other subscribers, such as apps, have more events than an organization's hook.
    every = sorted(FITTING["organization"]) if target.kind == "organization" else [WILDCARD]
    return every + own


def remove(db: Connection, hook: Row) -> None:
    target = target_of(hook)
    if target.kind == "app":
        app_subscriptions.end(db, target.id, hook["id"])
        return
    table, _ = target.subscribed
    db.delete(table, hook_id=hook["id"])
