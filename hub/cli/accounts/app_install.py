"""`tocsin app install`, `uninstall`, `suspend` and `resume`: apps on users and organizations."""

import click

from hub.api.apps import installation_changes
from hub.cli.console import lookups, options, suggestions
from hub.cli.console.arguments import PairType, distinct_names
from hub.cli.console.exclusions import Exclusion
from hub.cli.console.grammar import command
from hub.cli.console.removal import agree
from hub.cli.service.configuration import Configuration, Settings
from hub.cli.traffic import api_context
from hub.rest.context import Context
from store import Connection, Row
from store.apps import installations

NAME = click.argument("name")
LOGIN = click.argument("login", shell_complete=suggestions.logins)


@command(
    examples=["tocsin app install Mill acme --repo bell-tower"],
    exclusions=[Exclusion("--repo", ["--all-repos"], "an installation covers some or all")],
)
@NAME
@LOGIN
@click.option("--repo", "repos", multiple=True, metavar="REPO",
              help="Cover only this repository of the account; repeatable.")  # fmt: skip
@click.option("--all-repos", is_flag=True, help="Cover all repositories, also later ones.")
@click.option("--permission", "permissions", multiple=True, type=PairType(),
              callback=distinct_names,
              help="Accept only this permission, such as checks=read; repeatable.  [default: all"
              " that the app asks for]")  # fmt: skip
@options.configured
def install(
    configuration: Configuration,
    name: str,
    login: str,
    repos: tuple[str, ...],
    all_repos: bool,
    permissions: tuple[tuple[str, str], ...],
) -> None:
    """Install NAME on the account LOGIN, or change it there.

    The account accepts the permissions and events that the application asks for at present. Without
    --repo, a new installation covers all repositories, and an existing one keeps its repositories.
    """

    def make(db: Connection) -> tuple[str, Row]:
        app, account = lookups.integration(db, name), lookups.account(db, login)
        ctx = _context(db, configuration.settings, account)
        accepted = dict(permissions) or None
        chosen = lookups.repository_ids(db, account, repos) if repos else None
        found = installations.on_account(db, app["id"], account["id"])
        if found is None:
            made = installation_changes.install(ctx, app, account, accepted=accepted, chosen=chosen)
            return "installed", made
        installation_changes.accept(ctx, found, app, accepted)
        if repos or all_repos:
            installation_changes.choose(ctx, found, chosen)
        return "changed the installation of", found

    with options.opening(configuration.settings) as store:
        done, row = store.write_sync(make)
    click.echo(f"{done} {name} on {login}: installation {row['id']}")


def _context(db: Connection, settings: Settings, account: Row) -> Context:
    return api_context.for_account(db, settings, account, installation_changes.EMITS)


def _installation(
    db: Connection, configuration: Configuration, name: str, login: str
) -> tuple[Context, Row]:
    """Return the context of a change of an installation, and the installation."""
    found = lookups.installation(db, name, login)
    return _context(db, configuration.settings, lookups.account(db, login)), found


@command(examples=["tocsin app uninstall Mill acme --yes"])
@NAME
@LOGIN
@options.yes
@options.configured
def uninstall(configuration: Configuration, name: str, login: str, yes: bool) -> None:
    """Remove NAME from the account LOGIN, with its tokens there."""

    def make(db: Connection) -> None:
        installation_changes.remove(*_installation(db, configuration, name, login))

    with options.opening(configuration.settings) as store:
        store.read_sync(lookups.installation, name, login)
        agree(f"the installation of {name} on {login}", {}, yes=yes)
        store.write_sync(make)
    click.echo(f"removed {name} from {login}")


@command(examples=["tocsin app suspend Mill acme"])
@NAME
@LOGIN
@options.configured
def suspend(configuration: Configuration, name: str, login: str) -> None:
    """Suspend NAME on the account LOGIN.

    The installation's tokens are rejected, and its hook gets nothing of that account. Tokens that
    the app holds for users stay valid.
    """

    def make(db: Connection) -> bool:
        return installation_changes.suspend(*_installation(db, configuration, name, login))

    with options.opening(configuration.settings) as store:
        done = store.write_sync(make)
    click.echo(f"{name} on {login} is suspended" if done else "it was suspended already")


@command(examples=["tocsin app resume Mill acme"])
@NAME
@LOGIN
@options.configured
def resume(configuration: Configuration, name: str, login: str) -> None:
    """End the suspension of NAME on the account LOGIN."""

    def make(db: Connection) -> bool:
        return installation_changes.unsuspend(*_installation(db, configuration, name, login))

    with options.opening(configuration.settings) as store:
        done = store.write_sync(make)
    click.echo(f"{name} on {login} is active" if done else "it was not suspended")
