"""`tocsin user password` and `tocsin user one-time`: how a user logs in."""

import click

from hub.cli.console import lookups, options, output, suggestions
from hub.cli.console.grammar import command
from store import Connection, Store
from store.accounts import accounts, totp
from store.errors import Invalid


@command(examples=["tocsin user password ada", "tocsin user password ada --remove"])
@click.argument("login", shell_complete=suggestions.logins)
@click.option("--remove", is_flag=True, help="Remove the password.")
@options.with_store
def password(store: Store, login: str, remove: bool) -> None:
    """Set the password of the user LOGIN, read from standard input.

    Only the operations on authorizations accept passwords. Programs use tokens everywhere else.
    """
    hashed = None
    if not remove:
        given = options.read_secret("password", twice=True)
        if not given:
            raise Invalid("a password must have at least one character")
        # Hashing is slow: within the transaction, other writers would wait for it.
        hashed = accounts.hash_password(given)

    def change(db: Connection) -> None:
        accounts.set_password(db, lookups.user(db, login)["id"], hashed)

    store.write_sync(change)
    click.echo(f"{'removed' if remove else 'set'} the password of {login}")


@command("one-time", examples=["tocsin user one-time ada"])
@click.argument("login", shell_complete=suggestions.logins)
@click.option("--remove", is_flag=True, help="Require no one-time password any more.")
@options.with_store
def one_time_password(store: Store, login: str, remove: bool) -> None:
    """Require a one-time password beside the password of a user.

    The otpauth:// URI for the user's authenticator is printed only this once. If you run the
    command again, it makes another secret, and the former one is not accepted any more.
    """

    def end(db: Connection) -> bool:
        return totp.remove(db, lookups.user(db, login)["id"])

    def begin(db: Connection) -> str:
        row = lookups.user(db, login)
        return totp.set_up(db, row["id"], login=row["login"], issuer=options.ISSUER)

    if remove:
        done = "removed the" if store.write_sync(end) else "there were no"
        click.echo(f"{done} one-time passwords of {login}")
        return
    click.echo(store.write_sync(begin))
    output.print_note("this is not shown again; it holds the secret")
