"""`tocsin user`: people who own repositories and tokens."""

import click

from hub.cli.console import lookups, options, output, suggestions
from hub.cli.console.grammar import noun
from store import Connection, Row, Store
from store.accounts import accounts, totp
from store.registry import account_removal

# Kinds of parts that users do not have.
OF_ORGANIZATIONS = ("members", "teams")


@noun(
    examples=["tocsin user list", "tocsin user add ada --name Ada"],
    lazy={
        "password": (
            "accounts.user_login:password",
            "Set the password of the user LOGIN, read from standard input.",
        ),
        "remove": (
            "accounts.account_remove:remove_user",
            "Remove the user LOGIN with all that they own.",
        ),
        "one-time": (
            "accounts.user_login:one_time_password",
            "Require a one-time password beside the password of a user.",
        ),
        "openid": (
            "accounts.user_openid:openid",
            "Link users to people at an OpenID provider.",
        ),
    },
)
def user() -> None:
    """Create, change and remove users, and set how they log in."""


@user.command("list", examples=["tocsin user list"])
@options.listing_of_store
def list_users(store: Store, as_json: bool) -> None:
    """List the users."""
    rows = [_shape(row) for row in store.read_sync(accounts.list_all) if row["kind"] == "User"]
    output.print_rows(
        rows, as_json=as_json, empty="no users: make one with `tocsin user add LOGIN`"
    )


def _shape(row: Row) -> dict[str, object]:
    return {
        **output.copied(row, "id, login, name, email"),
        "site_admin": bool(row["site_admin"]),
        "created_at": output.format_time(row["created_at"]),
    }


@user.command(examples=["tocsin user show ada"])
@click.argument("login", shell_complete=suggestions.logins)
@options.listing_of_store
def show(store: Store, login: str, as_json: bool) -> None:
    """Show the user LOGIN with how they log in and what they own."""
    output.print_record(store.read_sync(_details, login), as_json=as_json)


def _details(db: Connection, login: str) -> dict[str, object]:
    row = lookups.user(db, login)
    owned = account_removal.parts(db, row)
    return {
        **_shape(row),
        "password": accounts.stored_password(db, row["id"]) is not None,
        "one_time_passwords": totp.required(db, row["id"]),
        **{name: many for name, many in owned.items() if name not in OF_ORGANIZATIONS},
    }


@user.command(examples=["tocsin user add ada --name Ada --email ada@tower.example"])
@click.argument("login")
@click.option("--name", help="Full name.")
@click.option("--email", help="Email address. It counts as verified.")
@click.option(
    "--site-admin",
    is_flag=True,
    help="Allow everything everywhere; a token is still limited by its scopes.",
)
@options.with_store
def add(store: Store, login: str, name: str | None, email: str | None, site_admin: bool) -> None:
    """Create the user LOGIN."""
    made = store.write_sync(accounts.create, login, name=name, email=email, site_admin=site_admin)
    click.echo(f"made user {made['login']}")


@user.command(examples=["tocsin user edit ada --site-admin"])
@click.argument("login", shell_complete=suggestions.logins)
@click.option("--name", help="Full name.")
@click.option("--email", help="Email address. It counts as verified.")
@click.option("--site-admin/--no-site-admin", default=None, help="Allow everything everywhere.")
@options.with_store
def edit(
    store: Store, login: str, name: str | None, email: str | None, site_admin: bool | None
) -> None:
    """Change the user LOGIN. An empty name or address removes it.

    The last administrator of the site stays one.
    """
    if name is None and email is None and site_admin is None:
        raise click.UsageError("say what to change, such as --name")

    def change(db: Connection) -> None:
        row = lookups.user(db, login)
        lookups.rename_account(db, row, name, email)
        if site_admin is not None:
            accounts.set_site_admin(db, row["id"], site_admin)

    store.write_sync(change)
    click.echo(f"changed user {login}")
