"""`tocsin emit`: posts an event of a repository, without a token and without HTTP."""

from typing import IO, Any

import click
import orjson

from hub.cli.console import lookups, options, output, suggestions
from hub.cli.console.arguments import FullNameType, InputFile
from hub.cli.console.event_type import EventType
from hub.cli.console.grammar import command
from hub.cli.service.configuration import Configuration, Settings
from hub.event_examples import examples
from hub.http.body import read_object
from hub.http.errors import Malformed, Rejected
from hub.ingest import event_envelope
from hub.rest import serializers
from hub.rest.urls import Urls
from hub.rest.vocabulary import Vocabulary
from store import Connection
from store.database import uuid7
from store.delivery import events
from store.delivery.incoming import SHARED_EXAMPLE_SOURCE, Receipt
from store.errors import Invalid
from store.hooks.event_names import PLATFORM_EVENTS


@command(
    examples=[
        "tocsin emit push ada/bell-tower --example",
        "tocsin emit issues ada/bell-tower --file issue.json",
        "jq .payload saved.json | tocsin emit push ada/bell-tower --file -",
    ]
)
@click.argument("event", type=EventType(PLATFORM_EVENTS), shell_complete=suggestions.event_names)
@click.argument("full_name", metavar="OWNER/NAME", type=FullNameType())
@click.option("--file", "file", type=InputFile("rb"),
              help="The payload, a JSON object; `-` is standard input.")  # fmt: skip
@click.option("--example", is_flag=True, help="Use an example payload of this event.")
@click.option("--id", "guid", help="The delivery id.  [default: a new one]")
@options.as_json
@options.configured
def emit(
    configuration: Configuration,
    event: str,
    full_name: tuple[str, str],
    file: IO[bytes] | None,
    example: bool,
    guid: str | None,
    as_json: bool,
) -> None:
    """Post an EVENT of a repository, as a platform does.

    The payload is from --file or from --example: give one of them. The event is delivered to every
    hook that subscribes to it. If the same event is posted again with the same --id, it is stored
    once. Another event with this id is an error.

    An example changes no state: the API does not show what it reports.
    """
    if (file is None) == (not example):
        raise click.UsageError("give the payload with --file, or --example")
    settings = configuration.settings
    guid, body = _checked(guid, file, settings.max_event_bytes)

    def accept(db: Connection) -> Receipt:
        repo = lookups.repository(db, full_name)
        content = _example(db, settings, event, repo) if body is None else body
        payload = read_object(content)
        arrived = event_envelope.arrival(
            event_envelope.EventOrigin(repo["id"]), guid, event, content, payload
        )
        if body is None:
            # A real issue or branch may have the number or the name in the example.
            arrived.source_id = SHARED_EXAMPLE_SOURCE
        (receipt,) = events.accept_all(db, [arrived])
        return receipt

    with options.opening(settings) as store:
        receipt = store.write_sync(accept)
    _print(receipt, as_json=as_json)


def _checked(guid: str | None, file: IO[bytes] | None, most: int) -> tuple[str, bytes | None]:
    """Return delivery id and payload, which is None without a file.

    Raises Invalid if the hub would reject one of them.
    """
    try:
        chosen = uuid7.new() if guid is None else event_envelope.checked_guid(guid)
        if file is None:
            return chosen, None
        body = file.read(most + 1)
        if len(body) > most:
            raise Rejected(f"the payload is larger than max_event_bytes, {most} bytes")
        read_object(body)
    except (Malformed, Rejected) as error:
        raise Invalid(str(error)) from None
    return chosen, body


def _example(db: Connection, settings: Settings, name: str, repo: dict[str, Any]) -> bytes:
    """Return an example payload with the real repository and its owner, in the configured words.

    An event without an example of its own has no other members.
    """
    root = settings.root()
    urls = Urls(root)
    owner = serializers.simple_users(urls, db, [repo["owner_id"]])[repo["owner_id"]]
    words = Vocabulary(settings.vocabulary, root)
    return orjson.dumps(examples.of_repository(name, urls, words, db, repo, {**owner}))


def _print(receipt: Receipt, *, as_json: bool) -> None:
    if as_json:
        shown = {"id": receipt.guid, "event_id": receipt.event_id, "deliveries": receipt.deliveries}
        click.echo(output.dumps(shown))
        return
    again = " was posted before" if receipt.duplicate else ""
    hooks = "1 hook gets it" if receipt.deliveries == 1 else f"{receipt.deliveries} hooks get it"
    click.echo(f"event {receipt.event_id}{again}: {hooks}")
    output.print_note(f"`tocsin event show {receipt.event_id}` shows its deliveries")
