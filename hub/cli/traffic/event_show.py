"""`tocsin event show`: one event with its payload and its deliveries."""

from typing import Any

import click
import orjson

from hub.cli.console import lookups, options, output, suggestions
from hub.cli.console.arguments import IdType
from hub.cli.console.bodies import pretty, show_body
from hub.cli.console.exclusions import Exclusion
from hub.cli.console.grammar import command
from hub.cli.traffic.delivery import shape
from hub.ui import status_text
from store import Connection, Row, Store
from store.delivery import event_queries, events, incoming

# The deliveries that are shown, the newest ones.
MOST = 100
TABLE = ("id", "hook", "url", "state", "attempts", "status", "problem")


@command(
    examples=["tocsin event show 7", "tocsin event show 7 --payload"],
    exclusions=[Exclusion("--payload", ["--json", "--utc"], "--payload prints nothing else")],
)
@click.argument("event_id", metavar="ID", type=IdType(), shell_complete=suggestions.event_ids)
@click.option("--payload", "whole", is_flag=True, help="Print the payload alone, byte for byte.")
@options.listing_of_store
def show(store: Store, event_id: int, whole: bool, as_json: bool) -> None:
    """Show an event with its payload and its deliveries.

    The beginning of the payload is shown. With --payload or --json, it is whole.
    """
    head, body, made = store.read_sync(_found, event_id)
    if whole:
        _print_payload(event_id, body)
    elif as_json:
        payload = None if body is None else _payload(body)
        click.echo(output.dumps({**head, "payload": payload, "deliveries": made}))
    else:
        output.print_record(head, as_json=False)
        click.echo("\npayload")
        show_body("  ", "no longer kept" if body is None else pretty(body))
        click.echo("\ndeliveries")
        output.print_rows(made, as_json=False, empty=_nobody(head), columns=TABLE)


def _payload(body: bytes) -> Any:
    """Return a payload for the printer: JSON as it is, and another one as a text."""
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.decode("utf-8", "replace")
    # The printer would refuse values that are nested deeply.
    return orjson.Fragment(body)


def _print_payload(event_id: int, body: bytes | None) -> None:
    if body is None:
        raise click.ClickException(f"the payload of event {event_id} is no longer kept")
    click.echo(body, nl=False)


def _nobody(head: Row) -> str:
    return f"none: no hook of {head['repository'] or 'any repository'} wanted {head['event']}"


def _found(db: Connection, event_id: int) -> tuple[Row, bytes | None, list[Row]]:
    row, kept = event_queries.get(db, event_id), events.get(db, event_id)
    if row is None or kept is None:
        raise lookups.missing(f"event {event_id}", "event list")
    made = [shape(one) for one in event_queries.deliveries_of(db, event_id, MOST)]
    return _head(row), kept["body"], made


def _head(row: Row) -> Row:
    return {
        "id": row["id"],
        "event": row["name"],
        **output.copied(row, "action, repository, received_at, guid"),
        "from": _sender(row),
        "bytes": row["size"],
        "traceparent": row["traceparent"],
        "tracestate": row["tracestate"],
    }


def _sender(row: Row) -> str:
    if row["source"] is not None:
        return f"source {row['source']}"
    named = {
        incoming.LOCAL_SOURCE: "this hub",
        incoming.REPUBLISHED_SOURCE: "this hub, republished",
        incoming.EXAMPLE_SOURCE: "an example",
        incoming.SHARED_EXAMPLE_SOURCE: "an example",
    }
    return named.get(row["source_id"]) or _posted_by(row)


def _posted_by(row: Row) -> str:
    if row["source_id"]:
        return "a removed source"
    return status_text.posted_by(row)
