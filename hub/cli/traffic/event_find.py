"""`tocsin event find`: the events with a delivery id, also if they were rejected."""

import click

from hub.cli.console import options, output
from hub.cli.console.arguments import WordType
from hub.cli.console.grammar import command
from hub.http.numbers import natural
from store import Connection, Row, Store
from store.clock import iso
from store.delivery import event_lookup, event_queries, rejections
from store.errors import Missing

TABLE = ("result", "id", "at", "event", "repository", "sender", "deliveries", "reason")


@command(
    examples=["tocsin event find 72d3162e-cc78-11e3-81ab-4c9367dc0958", "tocsin event find 12"]
)
@click.argument("text", metavar="ID", type=WordType())
@options.listing_of_store
def find(store: Store, text: str, as_json: bool) -> None:
    """Find events by a delivery id, or by a delivery's number.

    ID is the delivery id that a sender or a receiver has on record, such as X-GitHub-Delivery, or
    the number of a delivery. Rejected events are found, too. If no event has it, the exit code says
    so, and the message has the time of the oldest event that is stored.
    """
    rows = store.read_sync(_found, text)
    output.print_rows(rows, as_json=as_json, empty="", columns=TABLE)


def _found(db: Connection, text: str) -> list[Row]:
    ids = event_lookup.of_any(db, text, natural(text))
    found = [_accepted(row) for row in event_queries.shown(db, ids)]
    found += [_rejected(row) for row in rejections.page(db, guid=text)]
    if not found:
        raise Missing(f"no event came in with the id {text}, and none was rejected{_oldest(db)}")
    return found


def _oldest(db: Connection) -> str:
    at = event_lookup.oldest_at(db)
    return "" if at is None else f"; the oldest event that is stored is of {iso(at)}"


def _accepted(row: Row) -> Row:
    return {
        "result": "accepted",
        "id": row["id"],
        "at": output.format_time(row["received_at"]),
        "event": row["name"],
        **output.copied(row, "action, repository, guid"),
        "sender": None,
        "deliveries": row["deliveries"],
        "reason": None,
    }


def _rejected(row: Row) -> Row:
    return {
        "result": "rejected",
        "id": row["id"],
        "at": output.format_time(row["at"]),
        "event": row["event"],
        "action": None,
        "repository": None,
        "guid": row["guid"],
        "sender": row["sender"],
        "deliveries": None,
        "reason": row["reason"],
    }
