"""`tocsin source`: platforms that post events to /events, signed with their own secret."""

import secrets

import click

from hub.cli.console import options, output, suggestions
from store import Connection, Row, Store
from store.delivery import sources


@click.group()
def source() -> None:
    """Create, list and remove sources of signed events."""


@source.command()
@click.argument("name")
@click.option(
    "--secret",
    help="Its secret; `-` reads it from standard input.  [default: a random one, which is shown]",
)
@click.option("--owner", metavar="LOGIN", help="Accept events of this account's repositories only.")
@options.with_store
def add(store: Store, name: str, secret: str | None, owner: str | None) -> None:
    """Create the source NAME."""
    given = options.given_secret(secret)
    value = secrets.token_hex(32) if given is None else given

    def make(db: Connection) -> Row:
        owner_id = None if owner is None else options.account(db, owner)["id"]
        return sources.create(db, name, value, owner_id=owner_id)

    made = store.do(make)
    output.print_note(f"made source {made['name']}")
    if given is None:
        click.echo(value)
        output.print_note("this is its secret, which is not shown again")


@source.command("list")
@options.as_json
@options.with_store
def list_sources(store: Store, as_json: bool) -> None:
    """List the sources, without their secrets."""
    rows = [
        {
            "id": row["id"],
            "name": row["name"],
            "owner": row["owner"],
            "created_at": output.format_time(row["created_at"]),
        }
        for row in store.look(sources.every)
    ]
    output.print_rows(rows, as_json=as_json, empty="no sources: `tocsin source add NAME` makes one")


@source.command()
@click.argument("name", shell_complete=suggestions.source_names)
@options.with_store
def remove(store: Store, name: str) -> None:
    """Remove the source NAME. Its events stay."""

    def end(db: Connection) -> None:
        found = sources.by_name(db, name)
        if found is None:
            raise options.missing(f"source {name!r}", "source list")
        sources.remove(db, found["id"])

    store.do(end)
    click.echo(f"removed source {name}")
