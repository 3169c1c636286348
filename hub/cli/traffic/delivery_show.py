"""`tocsin delivery show`: one delivery with all its attempts."""

import click

from hub.cli.console import lookups, options, output, suggestions
from hub.cli.console.arguments import IdType
from hub.cli.console.bodies import pretty, shortened, show_body
from hub.cli.console.grammar import command
from hub.cli.traffic.delivery import shape
from hub.ui import signature
from store import Connection, Row, Store
from store.delivery import attempts, delivery_queries, events
from store.hooks import hooks


@command(examples=["tocsin delivery show 2"])
@click.argument("delivery_id", metavar="ID", type=IdType(), shell_complete=suggestions.delivery_ids)
@options.listing_of_store
def show(store: Store, delivery_id: int, as_json: bool) -> None:
    """Show one delivery with all its attempts, request and response."""
    row, tried, body = store.read_sync(_one, delivery_id)
    if as_json:
        click.echo(output.dumps({**row, "attempts": tried, "body": body}))
        return
    for name, value in row.items():
        click.echo(f"{name.replace('_', ' '):12} {output.plain(value)}")
    for attempt in tried:
        _show_attempt(attempt)
    click.echo("\n> body (the event's JSON)")
    show_body("> ", "no longer kept" if body is None else pretty(body))


def find(db: Connection, delivery_id: int) -> Row:
    """Return the delivery with this id. Raises Missing if there is none."""
    row = next(iter(delivery_queries.page(db, limit=1, before=delivery_id + 1)), None)
    if row is None or row["id"] != delivery_id:
        raise lookups.missing(f"delivery {delivery_id}", "delivery list")
    return row


def _one(db: Connection, delivery_id: int) -> tuple[Row, list[Row], bytes | None]:
    row = find(db, delivery_id)
    tried: list[Row] = []
    for known in attempts.of_delivery(db, delivery_id):
        attempt = attempts.get(db, row["hook_id"], known["id"])
        assert attempt is not None, "read in the same transaction"
        tried.append({**_attempt(attempt), "signatures": _signatures(db, row["hook_id"], attempt)})
    event = events.get(db, row["event_id"])
    return shape(row), tried, None if event is None else event["body"]


def _signatures(db: Connection, hook_id: int, attempt: Row) -> Row:
    """Return which secret made each signature of an attempt, by the header, as far as is known."""
    hook = hooks.by_id(db, hook_id)
    found = signature.signatures(db, hook, attempt)
    return {one.header: one.said for one in found if one.said}


def _attempt(row: Row) -> Row:
    return {
        **output.copied(row, "id, number, started_at"),
        "ms": round(row["duration"] / 1000, 1),
        "timings_ms": {name: round(spent / 1000, 1) for name, spent in row["timings"].items()},
        **output.copied(row, "url, address"),
        "status": row["status_code"],
        **output.copied(row, "error, instruction"),
        **output.copied(row, "request_headers, response_headers, response_body"),
    }


def _show_attempt(attempt: Row) -> None:
    outcome = attempt["error"] or f"status {attempt['status']}"
    spent = " ".join(f"{name} {ms}" for name, ms in attempt["timings_ms"].items())
    click.echo(f"\nattempt {attempt['number']} (id {attempt['id']}): {output.printable(outcome)}")
    click.echo(f"  {output.plain(attempt['started_at'])}, {attempt['ms']} ms ({spent})")
    click.echo(f"  POST {output.printable(attempt['url'])} at {attempt['address'] or 'no address'}")
    if attempt["instruction"]:
        click.echo(f"  the receiver asked: {output.printable(attempt['instruction'])}")
    for header, said in attempt["signatures"].items():
        click.echo(f"  {header}: {said}")
    for mark, headers in (("> ", attempt["request_headers"]), ("< ", attempt["response_headers"])):
        for name, value in (headers or {}).items():
            click.echo(f"  {mark}{output.printable(f'{name}: {value}')}")
    if attempt["response_body"]:
        show_body("  < ", shortened(attempt["response_body"]))
