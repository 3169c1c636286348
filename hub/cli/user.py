"""`tocsin user`: people who own repositories and tokens."""

import click

from hub.cli import options, output
from store import Row, Store, accounts


@click.group()
def user() -> None:
    """Make and list users."""


@user.command()
@click.argument("login")
@click.option("--name", help="Full name.")
@click.option("--email", help="E-mail address.")
@click.option("--site-admin", is_flag=True, help="May do everything, everywhere.")
@options.with_store(create=True)
def add(store: Store, login: str, name: str | None, email: str | None, site_admin: bool) -> None:
    """Make the user LOGIN."""
    made = store.do(accounts.create, login, name=name, email=email, site_admin=site_admin)
    click.echo(f"made user {made['login']}")


@user.command("list")
@options.as_json
@options.with_store
def show(store: Store, as_json: bool) -> None:
    """List the users."""
    rows = [_shape(row) for row in store.look(accounts.every) if row["kind"] == "User"]
    output.show(rows, as_json=as_json, empty="no users: make one with `tocsin user add LOGIN`")


def _shape(row: Row) -> dict[str, object]:
    return {
        "id": row["id"],
        "login": row["login"],
        "name": row["name"],
        "email": row["email"],
        "site_admin": bool(row["site_admin"]),
        "created_at": output.when(row["created_at"]),
    }
