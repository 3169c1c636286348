"""`tocsin user`: people who own repositories and tokens."""

import click

from hub.cli.console import options, output, suggestions
from store import Connection, Row, Store
from store.accounts import accounts, totp
from store.errors import Invalid


@click.group()
def user() -> None:
    """Make and list users, and say what they log in with."""


@user.command()
@click.argument("login")
@click.option("--name", help="Full name.")
@click.option("--email", help="E-mail address.")
@click.option(
    "--site-admin",
    is_flag=True,
    help="May do everything, everywhere: what of it a token may do, its scopes say.",
)
@options.with_store
def add(store: Store, login: str, name: str | None, email: str | None, site_admin: bool) -> None:
    """Make the user LOGIN."""
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
@click.option("--remove", is_flag=True, help="Take it away.")
@options.with_store
def password(store: Store, login: str, remove: bool) -> None:
    """Set the password of the user LOGIN, read from standard input.

    It is for the operations on authorizations alone; programs use tokens.
    """
    hashed = None
    if not remove:
        given = options.read_secret("password", twice=True)
        if not given:
            raise Invalid("a password has to have one character at least")
        # Here, because it takes a while, for which others would have to wait in the transaction.
        hashed = accounts.hash_password(given)

    def change(db: Connection) -> None:
        accounts.set_password(db, options.user(db, login)["id"], hashed)

    store.do(change)
    click.echo(f"{'removed' if remove else 'set'} the password of {login}")


@user.command("one-time")
@click.argument("login", shell_complete=suggestions.logins)
@click.option("--remove", is_flag=True, help="Ask for none any more.")
@options.with_store
def one_time_password(store: Store, login: str, remove: bool) -> None:
    """Ask for a one-time password beside the password of the user LOGIN.

    Prints the otpauth:// URI for the user's authenticator this once; doing it again makes another
    secret.
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
