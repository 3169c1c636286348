"""`tocsin websub`: WebSub subscriptions."""

import click

from hub.cli.console import lookups, options, output
from hub.cli.console.arguments import IdType, WordType
from hub.cli.console.grammar import noun
from hub.cli.console.removal import agree
from store import Connection, Row, Store
from store.delivery.websub import websub as kept

SUBSCRIPTION_ID = click.argument("subscription_id", metavar="ID", type=IdType())


@noun(
    examples=["tocsin websub list", "tocsin websub remove 3"],
    former={"revoke": ("remove", "--yes")},
)
def websub() -> None:
    """List WebSub subscriptions, or end one."""


@websub.command("list", examples=["tocsin websub list", "tocsin websub list --ended"])
@click.option("--ended", is_flag=True, help="Also ended subscriptions.")
@options.limit
@options.listing_of_store
def list_subscriptions(store: Store, ended: bool, limit: int, as_json: bool) -> None:
    """List the WebSub subscriptions, newest first."""
    rows = [_shape(row) for row in store.read_sync(kept.page, limit=limit, ended=ended)]
    output.print_rows(
        rows,
        as_json=as_json,
        empty="no WebSub subscriptions: subscribers ask for them at POST /hub/websub",
    )


def _shape(row: Row) -> Row:
    return {
        **output.copied(row, "id, topic, callback"),
        "signed": row["secret"] is not None,
        "lease_ends_at": output.format_time(row["lease_ends_at"]),
        "state": "active" if row["ended_at"] is None else row["reason"] or "ended",
    }


@websub.command(examples=["tocsin websub show 3"])
@SUBSCRIPTION_ID
@options.listing_of_store
def show(store: Store, subscription_id: int, as_json: bool) -> None:
    """Show a WebSub subscription, also an ended one."""
    output.print_record(_shape(store.read_sync(_find, subscription_id)), as_json=as_json)


def _find(db: Connection, subscription_id: int) -> Row:
    found = kept.get(db, subscription_id)
    return lookups.known(found, f"WebSub subscription {subscription_id}", "websub list")


@websub.command(examples=["tocsin websub remove 3 --reason 'the feed has moved'"])
@SUBSCRIPTION_ID
@click.option(
    "--reason",
    type=WordType(),
    default="revoked by the hub's operator",
    show_default=True,
    help="The reason that the subscriber gets.",
)
@options.yes
@options.with_store
def remove(store: Store, subscription_id: int, reason: str, yes: bool) -> None:
    """End a WebSub subscription. Its subscriber gets a denial with the reason."""
    store.read_sync(_find, subscription_id)
    agree(f"the WebSub subscription {subscription_id}", {}, yes=yes)
    store.write_sync(_revoke, subscription_id, reason)
    click.echo(f"WebSub subscription {subscription_id} is ended")


def _revoke(db: Connection, subscription_id: int, reason: str) -> None:
    if not kept.deny(db, {subscription_id: reason}):
        raise lookups.missing(f"WebSub subscription {subscription_id}", "websub list")
