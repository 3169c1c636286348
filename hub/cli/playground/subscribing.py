"""Subscriptions that commands make and remove, as `POST /hub` does."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from hub.cli.console import lookups
from hub.cli.service.configuration import Settings
from hub.cli.traffic import api_context
from hub.ingest import subscription
from hub.ingest.subscription import Subscription
from store import Connection, Row
from store.delivery import hook_removal
from store.hooks import hooks


@dataclass(frozen=True, slots=True)
class SubscriptionOptions:
    """The repository, the callback and the events of a new subscription.

    If `secret` is None, a new hook gets a random one, and an existing hook keeps its secret.
    """

    full_name: tuple[str, str]
    url: str
    events: Sequence[str]
    json: bool = True
    secret: str | None = field(default=None, repr=False)


def subscribe(
    db: Connection, settings: Settings, wanted: SubscriptionOptions
) -> list[tuple[Row, str | None]]:
    """Create or change the hooks. Return each, and its secret if that is a random one.

    It is one hook, unless the URL has hooks with other formats or secrets already.
    """
    repo = lookups.repository(db, wanted.full_name)
    ctx = api_context.make(db, settings, repo)
    found: dict[int, Row] = {}
    generated: dict[int, str] = {}
    for event in wanted.events:
        one = Subscription(event, wanted.url, wanted.json, wanted.secret)
        is_new = one.secret is None and subscription.find(db, repo, one) is None
        if is_new:
            one.secret = secrets.token_hex(32)
        subscription.check(one)
        hook = subscription.subscribe(ctx, repo, one, settings.hooks_per_event)
        found[hook["id"]] = hook
        if is_new and one.secret is not None:
            generated[hook["id"]] = one.secret
    return [(hook, generated.get(hook_id)) for hook_id, hook in found.items()]


def remove(db: Connection, hook_id: int) -> None:
    """Delete a hook, unless it is deleted already. It gets no event about its removal."""
    hook = hooks.by_id(db, hook_id)
    if hook is not None and hook["deleted_at"] is None:
        hook_removal.delete(db, hook)
