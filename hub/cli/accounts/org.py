"""`tocsin org`: organizations and their members."""

import click

from hub.cli.console import lookups, options, output, suggestions
from hub.cli.console.grammar import noun
from store import Connection, Row, Store
from store.accounts import accounts
from store.registry import account_removal
from store.repositories import membership_dump


@noun(
    examples=["tocsin org add tower", "tocsin org join tower ada --role admin"],
    lazy={
        "join": ("accounts.org_join:join", "Make the user LOGIN a member of ORGANIZATION."),
        "leave": (
            "accounts.org_join:leave",
            "End the membership of the user LOGIN in ORGANIZATION.",
        ),
        "remove": (
            "accounts.account_remove:remove_organization",
            "Remove the organization LOGIN with all that it owns.",
        ),
    },
)
def org() -> None:
    """Create, change and remove organizations, and add and remove members."""


@org.command("list", examples=["tocsin org list"])
@options.listing_of_store
def list_organizations(store: Store, as_json: bool) -> None:
    """List the organizations."""
    output.print_rows(
        store.read_sync(_rows),
        as_json=as_json,
        empty="no organizations: `tocsin org add LOGIN` makes one",
    )


def _rows(db: Connection) -> list[Row]:
    return [_shape(db, row) for row in accounts.list_all(db) if row["kind"] == "Organization"]


def _shape(db: Connection, row: Row) -> Row:
    return {
        **output.copied(row, "id, login, name"),
        "members": membership_dump.members(db, row["id"]),
        "created_at": output.format_time(row["created_at"]),
    }


@org.command(examples=["tocsin org show tower"])
@click.argument("login", shell_complete=suggestions.logins)
@options.listing_of_store
def show(store: Store, login: str, as_json: bool) -> None:
    """Show the organization LOGIN with its members and what it owns."""

    def find(db: Connection) -> Row:
        row = lookups.organization(db, login)
        owned = account_removal.parts(db, row)
        shown = _shape(db, row) | {"email": row["email"], "description": row["description"]}
        return shown | {name: many for name, many in owned.items() if name != "members"}

    output.print_record(store.read_sync(find), as_json=as_json)


@org.command(examples=["tocsin org add tower --name 'The Bell Tower'"])
@click.argument("login")
@click.option("--name", help="Full name.")
@click.option("--email", help="Email address.")
@options.with_store
def add(store: Store, login: str, name: str | None, email: str | None) -> None:
    """Create the organization LOGIN."""
    made = store.write_sync(accounts.create, login, kind="Organization", name=name, email=email)
    click.echo(f"made organization {made['login']}")


@org.command(examples=["tocsin org edit tower --name 'The Old Bell Tower'"])
@click.argument("login", shell_complete=suggestions.logins)
@click.option("--name", help="Full name.")
@click.option("--email", help="Email address.")
@click.option("--description", help="A description of it.")
@options.with_store
def edit(
    store: Store, login: str, name: str | None, email: str | None, description: str | None
) -> None:
    """Change the organization LOGIN. An empty value removes the present one."""
    if name is None and email is None and description is None:
        raise click.UsageError("say what to change, such as --name")

    def change(db: Connection) -> None:
        row = lookups.organization(db, login)
        lookups.rename_account(db, row, name, email)
        if description is not None:
            accounts.describe(db, row["id"], description or None)

    store.write_sync(change)
    click.echo(f"changed organization {login}")
