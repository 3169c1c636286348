"""Shell completion for arguments that name something in the store.

It runs while somebody types. It opens the database without migrating it, and after an error it
offers nothing.
"""

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from hub.cli.console.plain_text import printable
from store import Connection, Row
from store.crypto import key_file
from store.crypto.vault import Vault
from store.database import completion
from store.database.opening import is_server_url, open_unmigrated, sqlite_path
from store.delivery import sources
from store.hooks.event_names import PLATFORM_EVENTS
from store.jobs import jobs

Offer = list[CompletionItem[str]]
Offering = Callable[[click.Context, click.Parameter, str], Offer]


def _offering(find: Callable[[Connection, str], list[Row]], name: str, help_: str) -> Offering:
    def offer(ctx: click.Context, param: click.Parameter, typed: str) -> Offer:
        found = _look(ctx, lambda db: find(db, typed))
        # A line end in the help, which is foreign text, would begin another item.
        return [
            CompletionItem(str(row[name]), help=printable(row.get(help_) or "")) for row in found
        ]

    return offer


def _look(ctx: click.Context, find: Callable[[Connection], list[Row]]) -> list[Row]:
    from hub.cli.service.configuration import configure
    from hub.cli.service.daemon_record import effective

    given = {"data_dir": ctx.params.get("data_dir"), "store": ctx.params.get("store_url")}
    try:
        settings = effective(configure(given, ctx.params.get("config"))).settings
        place = settings.store
        if not is_server_url(place) and not sqlite_path(place, settings.data_dir).exists():
            return []
        vault = Vault([key_file.generate().value])
        store = open_unmigrated(place, data_dir=settings.data_dir, vault=vault)
        try:
            return store.read_sync(find)
        finally:
            store.shut()
    except Exception:
        return []


def _named(rows: Iterable[Row], typed: str) -> list[Row]:
    return [row for row in rows if str(row["name"]).startswith(typed)]


def event_names(ctx: click.Context, param: click.Parameter, typed: str) -> Offer:
    """Return the names of events that begin with `typed`.

    The wildcard is none of them, because bash would offer the files of the directory for it.
    """
    return [CompletionItem(name) for name in sorted(PLATFORM_EVENTS) if name.startswith(typed)]


hook_ids = _offering(completion.hooks, "id", "url")
event_ids = _offering(completion.events, "id", "name")
delivery_ids = _offering(completion.deliveries, "id", "event")
full_names = _offering(completion.repositories, "full_name", "description")
logins = _offering(completion.logins, "login", "name")
source_names = _offering(lambda db, typed: _named(sources.every(db), typed), "name", "owner")
job_names = _offering(lambda db, typed: _named(jobs.every(db), typed), "name", "schedule")
