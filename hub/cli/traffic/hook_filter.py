"""`tocsin hook test-filter`: whether a hook's filter lets an event pass, and why."""

from typing import IO, Any

import click
import orjson

from hub.cli.console import lookups, options, output, suggestions
from hub.cli.console.arguments import IdType, InputFile, WordType
from hub.cli.console.exclusions import Exclusion
from hub.cli.console.grammar import command
from hub.cli.traffic.hook import HOOK_ID, find
from hub.http.body import read_object
from hub.http.errors import Malformed
from hub.ingest import event_envelope
from store import Connection, Row, Store
from store.delivery import filtering
from store.errors import Invalid
from store.filters.dry_run import DryRun, TermResult


@command(
    "test-filter",
    examples=[
        "tocsin hook test-filter 1 --event 7",
        """tocsin hook test-filter 1 --file push.json --filter '{"payload": {"size": 1}}'""",
    ],
    exclusions=[Exclusion("--event", ["--name"], "a stored event has its own name")],
)
@HOOK_ID
@click.option("--event", "event_id", type=IdType(), metavar="ID", help="A stored event.",
              shell_complete=suggestions.event_ids)  # fmt: skip
@click.option("--file", "file", type=InputFile("rb"),
              help="A payload, a JSON object; `-` is standard input.")  # fmt: skip
@click.option("--name", type=WordType(), shell_complete=suggestions.event_names,
              help="The name of the file's event.  [default: the hook's first event]")  # fmt: skip
@click.option("--filter", "source", metavar="JSON", help="Another filter in place of the hook's.")
@options.as_json
@options.with_store
def test_filter(
    store: Store,
    hook_id: int,
    event_id: int | None,
    file: IO[bytes] | None,
    name: str | None,
    source: str | None,
    as_json: bool,
) -> None:
    """Test the filter of a hook against an event. Nothing is sent.

    Name a stored event with --event, or give a payload with --file. The result names the conditions
    that the event satisfies, and the ones that it does not.
    """
    if (event_id is None) == (file is None):
        raise click.UsageError("give an event with --event, or a payload with --file")
    payload = None if file is None else _object(file.read(), "the payload")
    given = None if source is None else _object(source.encode(), "the filter")

    def test(db: Connection) -> DryRun:
        hook = find(db, hook_id)
        return filtering.test(filtering.filter_of(hook, given), document(db, hook))

    def document(db: Connection, hook: Row) -> filtering.Document:
        if payload is not None:
            called = name or filtering.usual_event(hook)
            return filtering.pasted(called, event_envelope.action_of(payload), payload)
        found = None if event_id is None else filtering.stored_for(db, hook, event_id)
        if found is None:
            raise lookups.missing(f"event {event_id} with a payload", "event list")
        return found

    _print(hook_id, store.read_sync(test), as_json=as_json)


def _object(text: bytes, noun: str) -> dict[str, Any]:
    try:
        return read_object(text)
    except Malformed as error:
        raise Invalid(f"{noun}: {error}") from None


def _print(hook_id: int, verdict: DryRun, *, as_json: bool) -> None:
    rows = [
        _row(one, holds)
        for holds, terms in ((True, verdict.matched), (False, verdict.failed))
        for one in terms
    ]
    if as_json:
        click.echo(output.dumps({"matches": verdict.matches, "conditions": rows}))
        return
    said = "delivers" if verdict.matches else "leaves out"
    click.echo(f"hook {hook_id} {said} this event")
    output.print_rows(rows, as_json=False, empty="")


def _row(term: TermResult, holds: bool) -> Row:
    return {
        "holds": holds,
        "path": term.path,
        "operator": term.operator,
        "expected": orjson.dumps(term.expected).decode(),
        "found": [orjson.dumps(value).decode() for value in term.found],
    } | ({} if term.error is None else {"error": term.error})
