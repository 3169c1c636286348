"""The hook of `tocsin listen --subscribe`, which exists as long as the command runs."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from hub.cli.console import lookups, options, output
from hub.cli.playground import subscribing
from hub.cli.playground.subscribing import SubscriptionOptions
from hub.cli.service.audit_actor import AuditHook
from hub.cli.service.configuration import Settings
from hub.cli.traffic import api_context
from store import Connection
from store.errors import Conflict, Invalid
from store.hooks import hooks
from store.monitoring import stats


@contextlib.asynccontextmanager
async def temporary_hook(settings: Settings, wanted: SubscriptionOptions) -> AsyncIterator[int]:
    """Keep a hook during the block. Yields its id.

    Raises Conflict if the repository has a hook with this URL, because this command must not remove
    a hook that it has not made.
    """
    await _check_callback(settings, wanted.url)
    with options.opening(settings) as store:
        hook_id = store.write_sync(_make, settings, wanted)
        try:
            if not store.read_sync(stats.collect).workers:
                output.print_note("no worker runs: deliveries begin when `tocsin serve` runs")
            yield hook_id
        finally:
            # The removal has an entry of its own in the audit log.
            store.audit_hook = AuditHook()
            store.write_sync(subscribing.remove, hook_id)


async def _check_callback(settings: Settings, url: str) -> None:
    try:
        await asyncio.to_thread(api_context.validate_callback, settings, url)
    except Invalid as error:
        raise Invalid(
            f"{error}: start `tocsin serve` with TOCSIN_ALLOW_NETWORKS=127.0.0.0/8"
        ) from None


def _make(db: Connection, settings: Settings, wanted: SubscriptionOptions) -> int:
    repo = lookups.repository(db, wanted.full_name)
    known = hooks.by_url(db, repo["id"], wanted.url)
    if known is not None:
        raise Conflict(
            f"{'/'.join(wanted.full_name)} has hook {known['id']} for {wanted.url} already:"
            " choose another --port, or leave out --subscribe"
        )
    ((hook, _),) = subscribing.subscribe(db, settings, wanted)
    hook_id: int = hook["id"]
    return hook_id
