"""`tocsin org`: organizations and who belongs to them."""

import click

from hub.cli import completing, options, output
from store import Connection, Row, Store, accounts, people
from store.errors import Invalid


@click.group()
def org() -> None:
    """Make and list organizations, and say who belongs to them."""


@org.command()
@click.argument("login")
@click.option("--name", help="Full name.")
@click.option("--email", help="E-mail address.")
@options.with_store(create=True)
def add(store: Store, login: str, name: str | None, email: str | None) -> None:
    """Make the organization LOGIN."""
    made = store.do(accounts.create, login, kind="Organization", name=name, email=email)
    click.echo(f"made organization {made['login']}")


@org.command()
@click.argument("organization")
@click.argument("login", shell_complete=completing.logins)
@click.option("--role", type=click.Choice(["member", "admin"]), default="member", show_default=True)
@options.with_store
def join(store: Store, organization: str, login: str, role: str) -> None:
    """Make the user LOGIN a member of ORGANIZATION."""
    store.do(_join, organization, login, role)
    click.echo(f"{login} is {role} of {organization}")


def _join(db: Connection, organization: str, login: str, role: str) -> None:
    group, joining = options.account(db, organization), options.account(db, login)
    if group["kind"] != "Organization":
        raise options.missing(f"organization {organization!r}", "org list")
    if joining["kind"] != "User":
        raise Invalid(f"{login!r} is an organization: only users belong to one")
    accounts.join(db, group["id"], joining["id"], role)


@org.command("list")
@options.as_json
@options.with_store
def show(store: Store, as_json: bool) -> None:
    """List the organizations."""
    rows = store.look(_rows)
    output.show(rows, as_json=as_json, empty="no organizations: `tocsin org add LOGIN` makes one")


def _rows(db: Connection) -> list[Row]:
    return [
        {
            "id": row["id"],
            "login": row["login"],
            "name": row["name"],
            "members": people.members(db, row["id"]),
            "created_at": output.when(row["created_at"]),
        }
        for row in accounts.every(db)
        if row["kind"] == "Organization"
    ]
