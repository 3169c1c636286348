"""`tocsin refusals`: events that were rejected, and why."""

import click

from hub.cli.console import options, output
from store import Row, Store
from store.delivery import rejections as kept


@click.command()
@options.limit
@options.as_json
@options.with_store
def refusals(store: Store, limit: int, as_json: bool) -> None:
    """List rejected events, newest first, with the reason."""
    rows = [_shape(row) for row in store.look(kept.page, limit=limit)]
    output.print_rows(
        rows,
        as_json=as_json,
        empty="no event was rejected: `tocsin events` lists the received events",
    )


def _shape(row: Row) -> Row:
    return {
        "at": output.format_time(row["at"]),
        "reason": row["reason"],
        "sender": row["sender"],
        "event": row["event"],
        "guid": row["guid"],
        "bytes": row["size"],
        "path": row["path"],
        "address": row["address"],
    }
