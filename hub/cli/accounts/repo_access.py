"""`tocsin repo grant`, `withdraw` and `rename`: the roles in a repository, and its name."""

import click

from hub.cli.accounts.repo import FULL_NAME
from hub.cli.console import lookups, options, suggestions
from hub.cli.console.grammar import command
from store import Connection, Store
from store.errors import Missing
from store.repositories import repositories


@command(examples=["tocsin repo grant ada/bell-tower bob write"])
@FULL_NAME
@click.argument("login", shell_complete=suggestions.logins)
@click.argument("role", metavar="ROLE", type=click.Choice(repositories.ROLES))
@options.with_store
def grant(store: Store, full_name: tuple[str, str], login: str, role: str) -> None:
    """Give the user LOGIN a ROLE in a repository.

    It replaces the role that the user was given before. The roles are read, triage, write, maintain
    and admin.
    """

    def give(db: Connection) -> None:
        where, who = lookups.repository(db, full_name), lookups.account(db, login)
        repositories.grant(db, where["id"], who["id"], role)

    store.write_sync(give)
    click.echo(f"{login} has the role {role} in {'/'.join(full_name)}")


@command(examples=["tocsin repo withdraw ada/bell-tower bob"])
@FULL_NAME
@click.argument("login", shell_complete=suggestions.logins)
@options.with_store
def withdraw(store: Store, full_name: tuple[str, str], login: str) -> None:
    """Withdraw the role of the user LOGIN in a repository.

    A role that the user has as a member of the organization, through a team, or because the
    repository is public, stays: the command prints it.
    """

    def take(db: Connection) -> str | None:
        where, who = lookups.repository(db, full_name), lookups.account(db, login)
        if not repositories.revoke(db, where["id"], who["id"]):
            raise Missing(
                f"{login} was given no role in {'/'.join(full_name)}:"
                f" `tocsin repo show {'/'.join(full_name)}` lists its collaborators"
            )
        return repositories.role_of(db, where, who)

    left = store.write_sync(take)
    role = "no role" if left is None else f"the role {left}"
    click.echo(f"{login} has {role} in {'/'.join(full_name)} now")


@command(examples=["tocsin repo rename ada/bell-tower belfry"])
@FULL_NAME
@click.argument("name")
@options.with_store
def rename(store: Store, full_name: tuple[str, str], name: str) -> None:
    """Rename a repository to NAME.

    The old name leads to it until another repository uses that name.
    """
    row = store.write_sync(
        lambda db: repositories.rename(db, lookups.repository(db, full_name), name)
    )
    click.echo(f"{'/'.join(full_name)} is {row['full_name']} now")
