"""`tocsin source`: platforms that post events to /events, signed with their own secret."""

import click

from hub.cli.console import lookups, options, output, suggestions
from hub.cli.console.grammar import noun
from hub.cli.console.removal import agree
from store import Connection, Row, Store
from store.delivery import sources


@noun(examples=["tocsin source add forgejo", "tocsin source list"])
def source() -> None:
    """Create, change and remove sources of signed events."""


@source.command("list", examples=["tocsin source list"])
@options.listing_of_store
def list_sources(store: Store, as_json: bool) -> None:
    """List the sources, without their secrets."""
    rows = [_shape(row) for row in store.read_sync(sources.every)]
    output.print_rows(rows, as_json=as_json, empty="no sources: `tocsin source add NAME` makes one")


def _shape(row: Row) -> Row:
    return output.copied(row, "id, name, owner, created_at")


@source.command(examples=["tocsin source show forgejo"])
@click.argument("name", shell_complete=suggestions.source_names)
@options.listing_of_store
def show(store: Store, name: str, as_json: bool) -> None:
    """Show the source NAME, without its secret."""

    def find(db: Connection) -> Row:
        number = _id(db, name)
        return next(row for row in sources.every(db) if row["id"] == number)

    output.print_record(_shape(store.read_sync(find)), as_json=as_json)


def _id(db: Connection, name: str) -> int:
    found = lookups.known(sources.by_name(db, name), f"source {name!r}", "source list")
    return int(found["id"])


@source.command(examples=["tocsin source add forgejo --owner ada"])
@click.argument("name")
@click.option(
    "--secret",
    help="Its secret; `-` reads it from standard input.  [default: a random one, which is shown]",
)
@click.option(
    "--owner",
    metavar="LOGIN",
    help="Accept events of this account's repositories only.  [default: of all]",
)
@options.with_store
def add(store: Store, name: str, secret: str | None, owner: str | None) -> None:
    """Create the source NAME."""
    value, is_random = options.new_secret(secret)

    def make(db: Connection) -> Row:
        owner_id = None if owner is None else lookups.account(db, owner)["id"]
        return sources.create(db, name, value, owner_id=owner_id)

    made = store.write_sync(make)
    output.print_note(f"made source {made['name']}")
    if is_random:
        options.show_secret(value)


@source.command(examples=["tocsin source edit forgejo --secret -"])
@click.argument("name", shell_complete=suggestions.source_names)
@click.option("--secret", required=True, help="The new one; `-` reads it from standard input.")
@options.with_store
def edit(store: Store, name: str, secret: str) -> None:
    """Give the source NAME another secret. The old one is not accepted any more."""
    value = options.given_secret(secret) or ""
    store.write_sync(lambda db: sources.set_secret(db, _id(db, name), value))
    click.echo(f"source {name} has another secret")


@source.command(examples=["tocsin source remove forgejo --yes"])
@click.argument("name", shell_complete=suggestions.source_names)
@options.yes
@options.with_store
def remove(store: Store, name: str, yes: bool) -> None:
    """Remove the source NAME. Its earlier events stay, and new ones are rejected."""
    store.read_sync(_id, name)
    agree(f"the source {name}: its events are rejected from now on", {}, yes=yes)
    store.write_sync(lambda db: sources.remove(db, _id(db, name)))
    click.echo(f"removed source {name}")
