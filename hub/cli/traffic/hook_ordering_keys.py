"""`tocsin hook ordering-keys`, `skip` and `discard`: the keys of an ordered hook."""

import click

from hub.cli.console import options, output
from hub.cli.console.grammar import command
from hub.cli.traffic.hook import HOOK_ID, find
from hub.ui.formatting import pluralize
from store import Connection, Row, Store
from store.ordering import operations

KEY = click.argument("key")


@command(examples=["tocsin hook ordering-keys 1", "tocsin hook ordering-keys 1 --json"])
@HOOK_ID
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True,
              help="Show at most this many keys.")  # fmt: skip
@options.listing_of_store
def ordering_keys(store: Store, hook_id: int, limit: int, as_json: bool) -> None:
    """List the keys of an ordered hook that have something to send.

    Blocked keys come first, and then the ones with the most attempts. `behind` is the number of
    deliveries that wait for the first one of the key.
    """

    def look(db: Connection) -> list[Row]:
        find(db, hook_id)
        return [_shape(row) for row in operations.keys(db, hook_id, limit)]

    output.print_rows(
        store.read_sync(look),
        as_json=as_json,
        empty=f"hook {hook_id} has no key with something to send",
        columns=("key", "state", "delivery", "sequence", "attempts", "next_at", "behind"),
    )


def _shape(row: Row) -> Row:
    state = key_state(row)
    return {
        "key": row["key"],
        "state": state,
        "delivery": row["delivery_id"],
        **output.copied(row, "guid, sequence, attempts"),
        "next_at": output.format_time(row["due_at"] if state == "waiting" else None),
        **output.copied(row, "blocked_at, behind, gap"),
    }


def key_state(row: Row) -> str:
    """Return whether a key is blocked, in flight, or waiting for its next attempt."""
    if row["blocked_at"] is not None:
        return "blocked"
    return "in flight" if row["held"] else "waiting"


@command(examples=["tocsin hook skip 1 482"])
@HOOK_ID
@KEY
@options.with_store
def skip(store: Store, hook_id: int, key: str) -> None:
    """Give up the first delivery of a key, and go on.

    If the key is blocked, its first delivery is dead already. The next request names the event that
    was skipped in the header webhook-gap. Write '' for the empty key.
    """

    def act(db: Connection) -> None:
        find(db, hook_id)
        operations.skip(db, hook_id, key)

    store.write_sync(act)
    click.echo(f"hook {hook_id}: the key {output.printable(key)!r} goes on with its next delivery")


@command(examples=["tocsin hook discard 1 482"])
@HOOK_ID
@KEY
@options.with_store
def discard(store: Store, hook_id: int, key: str) -> None:
    """Give up all deliveries that wait under a key.

    A request in flight is finished. Events that arrive from now on are sent. Write '' for the empty
    key.
    """

    def act(db: Connection) -> int:
        find(db, hook_id)
        return operations.discard(db, hook_id, key)

    named = pluralize(store.write_sync(act), "delivery", "deliveries")
    click.echo(f"hook {hook_id}: discarded {named} of the key {output.printable(key)!r}")
