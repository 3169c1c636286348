"""`tocsin refusal`: events that were rejected, and why."""

import click

from hub.cli.console import lookups, options, output
from hub.cli.console.arguments import IdType
from hub.cli.console.grammar import noun
from store import Row, Store
from store.delivery import rejections as kept


@noun(examples=["tocsin refusal list --limit 5"])
def refusal() -> None:
    """List the events that were rejected, and why."""


@refusal.command("list", examples=["tocsin refusal list", "tocsin refusal list --limit 5 --json"])
@options.limit
@options.listing_of_store
def list_refusals(store: Store, limit: int, as_json: bool) -> None:
    """List rejected events, newest first, with the reason."""
    rows = [_shape(row) for row in store.read_sync(kept.page, limit=limit)]
    output.print_rows(
        rows,
        as_json=as_json,
        empty="no event was rejected: `tocsin event list` lists the received events",
        columns=("id", "at", "event", "sender", "bytes", "reason"),
    )


@refusal.command(examples=["tocsin refusal show 7"])
@click.argument("refusal_id", metavar="ID", type=IdType())
@options.listing_of_store
def show(store: Store, refusal_id: int, as_json: bool) -> None:
    """Show a rejected event with the whole reason."""
    rows = store.read_sync(kept.page, limit=kept.KEPT)
    named = next((row for row in rows if row["id"] == refusal_id), None)
    found = lookups.known(named, f"refusal {refusal_id}", "refusal list")
    output.print_record(_shape(found), as_json=as_json)


def _shape(row: Row) -> Row:
    return {
        "id": row["id"],
        "at": output.format_time(row["at"]),
        **output.copied(row, "reason, sender, event, guid"),
        "bytes": row["size"],
        "path": row["path"],
        "address": row["address"],
    }
