"""`tocsin deliveries` and `tocsin delivery`: deliveries and their attempts."""

import click
import orjson
from click.core import ParameterSource

from hub.cli.console import options, output, suggestions
from hub.cli.console.arguments import FullNameType, MomentType
from hub.cli.console.interactive import until_interrupted
from hub.cli.traffic import tail
from store import Connection, Row, Store
from store.delivery import attempts, events
from store.delivery import deliveries as kept
from store.delivery.attempt_feed import AttemptFilter

# The number of earlier attempts that --follow shows first, unless --limit is given.
FIRST = 10
# The characters of a body that are shown to a person. --json has all of it.
SHOWN = 2_000


@click.command()
@click.option("--state", type=click.Choice(list(kept.STATES.values())))
@click.option("--hook", "hook_id", type=int, metavar="ID", help="Only deliveries to this hook.",
              shell_complete=suggestions.hook_ids)  # fmt: skip
@click.option("--repo", "full_name", type=FullNameType(), help="Only this repository.")
@click.option("--event", help="Only events of this name.", shell_complete=suggestions.event_names)
@click.option("--since", type=MomentType(), help="Only events received since then, such as 1h.")
@click.option("--follow", is_flag=True,
              help="Show each new attempt, until Ctrl-C, oldest first.")  # fmt: skip
@options.limit
@options.as_json
@options.with_store
def deliveries(
    store: Store,
    state: str | None,
    hook_id: int | None,
    full_name: tuple[str, str] | None,
    event: str | None,
    since: int | None,
    follow: bool,
    limit: int,
    as_json: bool,
) -> None:
    """List the deliveries, newest first, each with its last attempt; or follow the attempts.

    With --follow and --json, each attempt is a line of JSON.
    """
    store.look(options.check_hook, hook_id)
    repo_id = None
    if full_name is not None:
        repo_id = store.look(options.repository, full_name)["id"]
    if follow:
        _follow(store, state, hook_id, repo_id, event, since, limit, as_json)
        return
    rows = store.look(
        kept.page,
        limit=limit,
        state=state,
        hook_id=hook_id,
        repo_id=repo_id,
        event=event,
        since=since,
    )
    rows = [_shape(row) for row in rows]
    empty = (
        "no such deliveries: `tocsin hooks` lists the hooks, `tocsin events` the received events"
    )
    output.print_rows(rows, as_json=as_json, empty=empty)


def _follow(
    store: Store,
    state: str | None,
    hook_id: int | None,
    repo_id: int | None,
    event: str | None,
    since: int | None,
    limit: int,
    as_json: bool,
) -> None:
    if since is not None:
        raise click.UsageError("--since is for the list only: --follow shows attempts from now on")
    given = click.get_current_context().get_parameter_source("limit")
    first = FIRST if given is ParameterSource.DEFAULT else limit
    wanted = AttemptFilter(None if repo_id is None else [repo_id], hook_id, event or "")
    with until_interrupted():
        tail.follow(store, wanted, state, first=first, as_json=as_json)


def _shape(row: Row) -> Row:
    duration = row["duration"]
    return {
        "id": row["id"],
        "event": row["event"],
        "guid": row["guid"],
        "hook": row["hook_id"],
        "url": row["url"],
        "state": row["state"],
        "attempts": row["attempts"],
        "status": row["status_code"],
        "ms": None if duration is None else round(duration / 1000, 1),
        "received_at": output.format_time(row["received_at"]),
        "next_at": output.format_time(row["due_at"] if row["state"] == "waiting" else None),
        "problem": row["reason"] or row["error"],
    }


@click.command()
@click.argument("delivery_id", type=int, shell_complete=suggestions.delivery_ids)
@options.as_json
@options.with_store
def delivery(store: Store, delivery_id: int, as_json: bool) -> None:
    """Show one delivery with all its attempts, request and response."""
    row, tried, body = store.look(_one, delivery_id)
    if as_json:
        click.echo(output.dumps({**row, "attempts": tried, "body": body}))
        return
    for name, value in row.items():
        click.echo(f"{name.replace('_', ' '):12} {output.cell(value)}")
    for attempt in tried:
        _show_attempt(attempt)
    click.echo("\n> body (the event's JSON)")
    _show_body("> ", "no longer kept" if body is None else pretty(body))


def find(db: Connection, delivery_id: int) -> Row:
    """Return the delivery with this id. Raises Missing if there is none."""
    row = next(iter(kept.page(db, limit=1, before=delivery_id + 1)), None)
    if row is None or row["id"] != delivery_id:
        raise options.missing(f"delivery {delivery_id}", "deliveries")
    return row


def _one(db: Connection, delivery_id: int) -> tuple[Row, list[Row], bytes | None]:
    row = find(db, delivery_id)
    tried: list[Row] = []
    for known in attempts.of_delivery(db, delivery_id):
        attempt = attempts.get(db, row["hook_id"], known["id"])
        assert attempt is not None, "read in the same transaction"
        tried.append(_attempt(attempt))
    event = events.get(db, row["event_id"])
    return _shape(row), tried, None if event is None else event["body"]


def _attempt(row: Row) -> Row:
    return {
        "id": row["id"],
        "number": row["number"],
        "started_at": output.format_time(row["started_at"]),
        "ms": round(row["duration"] / 1000, 1),
        "timings_ms": {name: round(spent / 1000, 1) for name, spent in row["timings"].items()},
        "url": row["url"],
        "address": row["address"],
        "status": row["status_code"],
        "error": row["error"],
        "instruction": row["instruction"],
        "request_headers": row["request_headers"],
        "response_headers": row["response_headers"],
        "response_body": row["response_body"],
    }


def _show_attempt(attempt: Row) -> None:
    outcome = attempt["error"] or f"status {attempt['status']}"
    spent = " ".join(f"{name} {ms}" for name, ms in attempt["timings_ms"].items())
    click.echo(f"\nattempt {attempt['number']} (id {attempt['id']}): {output.printable(outcome)}")
    click.echo(f"  {output.cell(attempt['started_at'])}, {attempt['ms']} ms ({spent})")
    click.echo(f"  POST {output.printable(attempt['url'])} at {attempt['address'] or 'no address'}")
    if attempt["instruction"]:
        click.echo(f"  the receiver asked: {attempt['instruction']}")
    for mark, headers in (("> ", attempt["request_headers"]), ("< ", attempt["response_headers"])):
        for name, value in (headers or {}).items():
            click.echo(f"  {mark}{output.printable(f'{name}: {value}')}")
    if attempt["response_body"]:
        _show_body("  < ", attempt["response_body"])


def _show_body(mark: str, text: str) -> None:
    for line in shortened(text).splitlines():
        click.echo(mark + output.printable(line, lines=True))


def pretty(body: bytes) -> str:
    """Return a body for people: JSON with indents, and anything else unchanged."""
    try:
        return orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONDecodeError:
        return body.decode(errors="replace")


def shortened(text: str, most: int = SHOWN) -> str:
    """Return the first `most` characters of a text, and the number of the others."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n... {len(text) - most} characters more"
