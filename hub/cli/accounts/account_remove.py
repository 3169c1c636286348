"""`tocsin user remove` and `tocsin org remove`: the end of an account and of its installations."""

from collections.abc import Callable

import click

from hub.api.apps import installation_changes
from hub.cli.console import lookups, options, suggestions
from hub.cli.console.grammar import command
from hub.cli.console.removal import agree, remove_in_parts
from hub.cli.service.configuration import Configuration
from hub.cli.traffic import api_context
from store import Connection, Row
from store.registry import account_removal

LOGIN = click.argument("login", shell_complete=suggestions.logins)


@command("remove", examples=["tocsin user remove ada", "tocsin user remove ada --yes"])
@LOGIN
@options.yes
@options.configured
def remove_user(configuration: Configuration, login: str, yes: bool) -> None:
    """Remove the user LOGIN with all that they own.

    Repositories, hooks, tokens, applications and sources are removed too. Events and attempts stay
    until retention deletes them. The last administrator of an organization or of the site cannot be
    removed. If the command is interrupted, run it again.
    """
    _remove(configuration, login, "user", lookups.user, yes=yes)


@command("remove", examples=["tocsin org remove tower", "tocsin org remove tower --yes"])
@LOGIN
@options.yes
@options.configured
def remove_organization(configuration: Configuration, login: str, yes: bool) -> None:
    """Remove the organization LOGIN with all that it owns.

    Repositories, hooks, teams, applications and sources are removed too. Its members stay users.
    Events and attempts stay until retention deletes them. If the command is interrupted, run it
    again.
    """
    _remove(configuration, login, "organization", lookups.organization, yes=yes)


def _remove(
    configuration: Configuration,
    login: str,
    noun: str,
    find: Callable[[Connection, str], Row],
    *,
    yes: bool,
) -> None:
    def look(db: Connection) -> tuple[Row, dict[str, int]]:
        row = find(db, login)
        account_removal.check(db, row)
        return row, account_removal.parts(db, row)

    def remove_part(db: Connection) -> bool:
        row = find(db, login)
        emits = installation_changes.EMITS
        context = api_context.for_account(db, configuration.settings, row, emits)
        installation_changes.remove_all(context, row["id"])
        return account_removal.remove_part(db, row)

    with options.opening(configuration.settings) as store:
        row, parts = store.read_sync(look)
        agree(f"the {noun} {row['login']}", parts, yes=yes)
        remove_in_parts(store, remove_part)
    click.echo(f"removed {noun} {row['login']}")
