"""`tocsin user`: people who own repositories and tokens."""

import click

from hub.cli.console import options, output, suggestions
from store import Connection, Row, Store
from store.accounts import accounts, totp
from store.errors import Invalid


@click.group()
def user() -> None:
    """Create and list users, and set how they log in."""


@user.command()
@click.argument("login")
@click.option("--name", help="Full name.")
@click.option("--email", help="E-mail address.")
@click.option(
    "--site-admin",
    is_flag=True,
    help="Allow everything everywhere; a token is still limited by its scopes.",
)
@options.with_store
def add(store: Store, login: str, name: str | None, email: str | None, site_admin: bool) -> None:
    """Create the user LOGIN."""
    made = store.do(accounts.create, login, name=name, email=email, site_admin=site_admin)
    click.echo(f"made user {made['login']}")


@user.command("list")
@options.as_json
@options.with_store
def list_users(store: Store, as_json: bool) -> None:
    """List the users."""
    rows = [_shape(row) for row in store.look(accounts.list_all) if row["kind"] == "User"]
    output.print_rows(
        rows, as_json=as_json, empty="no users: make one with `tocsin user add LOGIN`"
    )


def _shape(row: Row) -> dict[str, object]:
    return {
        "id": row["id"],
        "login": row["login"],
        "name": row["name"],
        "email": row["email"],
        "site_admin": bool(row["site_admin"]),
        "created_at": output.format_time(row["created_at"]),
    }


@user.command()
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
            raise Invalid("a password has to have one character at least")
        # Hashing is slow: within the transaction, other writers would wait for it.
        hashed = accounts.hash_password(given)

    def change(db: Connection) -> None:
        accounts.set_password(db, options.user(db, login)["id"], hashed)

    store.do(change)
    click.echo(f"{'removed' if remove else 'set'} the password of {login}")


@user.command("one-time")
@click.argument("login", shell_complete=suggestions.logins)
@click.option("--remove", is_flag=True, help="Stop asking for one-time passwords.")
@options.with_store
def one_time_password(store: Store, login: str, remove: bool) -> None:
    """Ask for a one-time password beside the password of the user LOGIN.

    Prints the otpauth:// URI for the user's authenticator only this once. If you run it again, it
    makes another secret.
    """

    def end(db: Connection) -> bool:
        return totp.remove(db, options.user(db, login)["id"])

    def begin(db: Connection) -> str:
        row = options.user(db, login)
        return totp.set_up(db, row["id"], login=row["login"], issuer=options.ISSUER)

    if remove:
        done = "removed the" if store.do(end) else "there were no"
        click.echo(f"{done} one-time passwords of {login}")
        return
    click.echo(store.do(begin))
    output.print_note("this is not shown again; it holds the secret")
