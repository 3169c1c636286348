"""`tocsin org`: organizations and their members."""

import click

from hub.cli.console import options, output, suggestions
from hub.cli.service.configuration import Configuration
from hub.worker_events import WorkerEvents
from store import Connection, Row, Store
from store.accounts import accounts
from store.assistant import membership_seats
from store.errors import Invalid
from store.repositories import membership_dump


@click.group()
def org() -> None:
    """Create and list organizations, and add members."""


@org.command()
@click.argument("login")
@click.option("--name", help="Full name.")
@click.option("--email", help="E-mail address.")
@options.with_store
def add(store: Store, login: str, name: str | None, email: str | None) -> None:
    """Create the organization LOGIN."""
    made = store.do(accounts.create, login, kind="Organization", name=name, email=email)
    click.echo(f"made organization {made['login']}")


@org.command()
@click.argument("organization")
@click.argument("login", shell_complete=suggestions.logins)
@click.option("--role", type=click.Choice(["member", "admin"]), default="member", show_default=True)
@options.configured
def join(configuration: Configuration, organization: str, login: str, role: str) -> None:
    """Make the user LOGIN a member of ORGANIZATION.

    If every member of the organization has a seat at the assistant, the new member gets one too.
    """
    telling = WorkerEvents(configuration.settings)
    store = options.opened(configuration.settings, create=False)
    try:
        store.do(_join, telling, organization, login, role)
    finally:
        store.shut()
    click.echo(f"{login} is {role} of {organization}")


def _join(db: Connection, telling: WorkerEvents, organization: str, login: str, role: str) -> None:
    group, joining = options.account(db, organization), options.account(db, login)
    if group["kind"] != "Organization":
        raise options.missing(f"organization {organization!r}", "org list")
    if joining["kind"] != "User":
        raise Invalid(f"{login!r} is an organization: only users can be members")
    new, refreshed = membership_seats.join(db, group["id"], joining["id"], role)
    for event, seats in (("assistant_seat.created", new), ("assistant_seat.refreshed", refreshed)):
        if seats:
            telling(db, event, seats)


@org.command("list")
@options.as_json
@options.with_store
def list_organizations(store: Store, as_json: bool) -> None:
    """List the organizations."""
    rows = store.look(_rows)
    output.print_rows(
        rows, as_json=as_json, empty="no organizations: `tocsin org add LOGIN` makes one"
    )


def _rows(db: Connection) -> list[Row]:
    return [
        {
            "id": row["id"],
            "login": row["login"],
            "name": row["name"],
            "members": membership_dump.members(db, row["id"]),
            "created_at": output.format_time(row["created_at"]),
        }
        for row in accounts.list_all(db)
        if row["kind"] == "Organization"
    ]
