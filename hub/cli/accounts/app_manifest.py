"""`tocsin app manifest`: a code that a program converts into an app."""

import json
from typing import IO

import click

from hub.cli.console import lookups, options, output, suggestions
from hub.cli.console.arguments import InputFile
from hub.cli.console.grammar import command
from hub.cli.service.configuration import Configuration
from hub.cli.traffic import api_context
from store.apps import app_manifests
from store.errors import Invalid


@command(examples=["tocsin app manifest app.json --owner ada"])
@click.argument("file", type=InputFile())
@click.option("--owner", metavar="LOGIN", required=True, shell_complete=suggestions.logins,
              help="The account that will own the app.")  # fmt: skip
@options.configured
def manifest(configuration: Configuration, file: IO[str], owner: str) -> None:
    """Print a code for making the app that a manifest describes.

    FILE is JSON with `name`, `url`, `default_permissions`, `default_events` and
    `hook_attributes`; - is standard input. The program sends the code to POST
    /app-manifests/CODE/conversions. It can be used once, within an hour.
    """
    try:
        wanted = json.load(file)
    except ValueError:
        raise Invalid("the manifest is not JSON") from None
    if not isinstance(wanted, dict):
        raise Invalid("the manifest is not a JSON object")
    url = app_manifests.hook_url(app_manifests.checked_manifest(wanted))
    if url is not None:
        api_context.validate_callback(configuration.settings, url)
    with options.opening(configuration.settings) as store:
        code = store.write_sync(
            lambda db: app_manifests.create(db, lookups.account(db, owner)["id"], wanted)
        )
    click.echo(code)
    output.print_note("the code is valid once, for an hour")
