"""`tocsin app install`, `uninstall`, `suspend` and `resume`: apps on users and organizations."""

from collections.abc import Sequence

import click

from hub.cli.console import options, suggestions
from hub.cli.console.arguments import PairType
from hub.cli.console.grammar import command
from hub.cli.console.removal import agree
from store import Connection, Row, Store
from store.apps import installations

NAME = click.argument("name")
LOGIN = click.argument("login", shell_complete=suggestions.logins)


@command(examples=["tocsin app install Mill acme --repo bell-tower"])
@NAME
@LOGIN
@click.option("--repo", "repos", multiple=True, metavar="REPO",
              help="Cover only this repository of the account; repeatable.")  # fmt: skip
@click.option("--permission", "permissions", multiple=True, type=PairType(),
              help="Accept only this permission, such as checks=read; repeatable.  [default: all"
              " that the app asks for]")  # fmt: skip
@options.with_store
def install(
    store: Store,
    name: str,
    login: str,
    repos: tuple[str, ...],
    permissions: tuple[tuple[str, str], ...],
) -> None:
    """Install NAME on the account LOGIN, or change it there.

    The account accepts the permissions and events that the application asks for at present. An
    installation that covered other repositories covers these from then on.
    """

    def make(db: Connection) -> tuple[str, Row]:
        app, account = options.integration(db, name), options.account(db, login)
        accepted = dict(permissions) or None
        chosen = chosen_repositories(db, account, repos) if repos else None
        found = installations.on_account(db, app["id"], account["id"])
        if found is None:
            made = installations.create(db, app, account, accepted=accepted, repositories=chosen)
            return "installed", made
        installations.accept(db, found, app, accepted)
        installations.choose_repositories(db, found, chosen)
        return "changed the installation of", found

    done, row = store.do(make)
    click.echo(f"{done} {name} on {login}: installation {row['id']}")


def chosen_repositories(db: Connection, account: Row, names: Sequence[str]) -> list[int]:
    """Return the ids of an account's repositories. Raises Missing for an unknown name."""
    return [options.repository(db, (account["login"], name))["id"] for name in names]


@command(examples=["tocsin app uninstall Mill acme --yes"])
@NAME
@LOGIN
@options.yes
@options.with_store
def uninstall(store: Store, name: str, login: str, yes: bool) -> None:
    """Remove NAME from the account LOGIN, with its tokens there."""
    store.look(options.installation, name, login)
    agree(f"the installation of {name} on {login}", {}, yes=yes)
    store.do(lambda db: installations.remove(db, options.installation(db, name, login)))
    click.echo(f"removed {name} from {login}")


@command(examples=["tocsin app suspend Mill acme"])
@NAME
@LOGIN
@options.with_store
def suspend(store: Store, name: str, login: str) -> None:
    """Suspend NAME on the account LOGIN: its tokens are rejected."""
    done = store.do(lambda db: installations.suspend(db, options.installation(db, name, login)))
    click.echo(f"{name} on {login} is suspended" if done else "it was suspended already")


@command(examples=["tocsin app resume Mill acme"])
@NAME
@LOGIN
@options.with_store
def resume(store: Store, name: str, login: str) -> None:
    """End the suspension of NAME on the account LOGIN."""
    done = store.do(lambda db: installations.unsuspend(db, options.installation(db, name, login)))
    click.echo(f"{name} on {login} is active" if done else "it was not suspended")
