"""`tocsin repo remove`: the end of a repository, which the apps that chose it hear of."""

import click

from hub.api.apps import installation_changes
from hub.cli.accounts.repo import FULL_NAME
from hub.cli.console import lookups, options
from hub.cli.console.grammar import command
from hub.cli.console.removal import agree, remove_in_parts
from hub.cli.service.configuration import Configuration
from hub.cli.traffic import api_context
from store import Connection, Row
from store.accounts import accounts
from store.errors import Missing
from store.repositories import repository_removal


@command("remove", examples=["tocsin repo remove ada/bell-tower --yes"])
@FULL_NAME
@options.yes
@options.configured
def remove(configuration: Configuration, full_name: tuple[str, str], yes: bool) -> None:
    """Remove a repository with its hooks, issues and subscriptions.

    Nothing more is delivered to its hooks. Events and attempts stay until retention deletes them.
    If the command is interrupted, run it again.
    """

    def find(db: Connection) -> tuple[Row, dict[str, int]]:
        row = _repository(db, full_name)
        return row, repository_removal.parts(db, row["id"])

    def remove_part(db: Connection) -> bool:
        row = _repository(db, full_name)
        owner = accounts.required(db, row["owner_id"])
        emits = installation_changes.EMITS
        context = api_context.for_account(db, configuration.settings, owner, emits)
        installation_changes.lose(context, row)
        return repository_removal.remove_part(db, row)

    with options.opening(configuration.settings) as store:
        row, parts = store.read_sync(find)
        agree(f"the repository {row['full_name']}", parts, yes=yes)
        remove_in_parts(store, remove_part)
    click.echo(f"removed repository {row['full_name']}")


def _repository(db: Connection, full_name: tuple[str, str]) -> Row:
    """Return the repository. Raises Missing if it has another name now."""
    row, given = lookups.repository(db, full_name), "/".join(full_name)
    if row["full_name"].lower() != given.lower():
        raise Missing(f"the repository {given!r} is called {row['full_name']!r} now")
    return row
