"""`tocsin app hook`: the hook of an app."""

import click

from hub.cli.console import lookups, options, output
from hub.cli.console.grammar import command
from hub.cli.service.configuration import Configuration
from hub.cli.traffic import api_context
from hub.cli.traffic.hook_edit import NEW_HOOK
from hub.ingest import hook_events
from store import Connection, Row
from store.apps import app_hooks


@command(examples=["tocsin app hook Mill https://receiver.example/hook"])
@click.argument("name")
@click.argument("url")
@NEW_HOOK
@options.configured
def hook(
    configuration: Configuration,
    name: str,
    url: str,
    secret: str | None,
    content_type: str,
    insecure_ssl: bool,
) -> None:
    """Create the hook of the application NAME.

    It gets a ping at once. It gets the application's events from the accounts on which the
    application is installed. `tocsin app edit --event` changes the events, `tocsin hook edit` the
    rest. `tocsin hook remove` removes it.
    """
    settings = configuration.settings
    value, is_random = options.new_secret(secret)

    def make(db: Connection) -> Row:
        made = app_hooks.create(
            db,
            lookups.integration(db, name),
            url=url,
            secret=value,
            content_type=content_type,
            insecure_ssl=insecure_ssl,
        )
        hook_events.ping(api_context.for_hook(db, settings, made), made)
        return made

    with options.opening(settings) as store:
        store.read_sync(lookups.integration, name)
        api_context.validate_callback(settings, url)
        made = store.write_sync(make)
    output.print_note(f"made hook {made['id']} of the app {name}, and sent a ping to it")
    if is_random:
        options.show_secret(value)
