"""`tocsin event`: the received events and their payloads."""

import click

from hub.cli.console import lookups, options, output, suggestions
from hub.cli.console.arguments import FullNameType, IdType, WordType
from hub.cli.console.grammar import noun
from store import Connection, Row, Store
from store.delivery import event_queries


@noun(
    examples=[
        "tocsin event list --event push",
        "tocsin event show 7",
        "tocsin event find 72d3162e-cc78-11e3-81ab-4c9367dc0958",
    ],
    lazy={
        "show": ("traffic.event_show:show", "Show an event with its payload and its deliveries."),
        "find": (
            "traffic.event_find:find",
            "Find events by a delivery id, or by a delivery's number.",
        ),
    },
)
def event() -> None:
    """List the received events, or show one with its payload and deliveries."""


@event.command(
    "list",
    examples=[
        "tocsin event list",
        "tocsin event list --unwanted",
        "tocsin event list --token 3 --limit 5",
    ],
)
@click.option("--unwanted", is_flag=True, help="Only events that no hook had subscribed to.")
@click.option("--event", "name", type=WordType(), help="Only events of this name.",
              shell_complete=suggestions.event_names)  # fmt: skip
@click.option("--repo", "full_name", type=FullNameType(), help="Only this repository.")
@click.option("--token", "token_id", type=IdType(), metavar="ID",
              help="Only events that this token posted, also if it was removed.")  # fmt: skip
@options.limit
@options.listing_of_store
def list_events(
    store: Store,
    unwanted: bool,
    name: str | None,
    full_name: tuple[str, str] | None,
    token_id: int | None,
    limit: int,
    as_json: bool,
) -> None:
    """List the received events, newest first."""

    def find(db: Connection) -> list[Row]:
        repo_id = lookups.repository_id(db, full_name)
        return event_queries.newest(
            db, limit=limit, name=name, repo_id=repo_id, token_id=token_id, unwanted=unwanted
        )

    rows = [_shape(row) for row in store.read_sync(find)]
    output.print_rows(
        rows,
        as_json=as_json,
        empty="no such events: `tocsin refusal list` lists rejected events",
        columns=("id", "received_at", "event", "action", "repository", "guid", "deliveries"),
    )


def _shape(row: Row) -> Row:
    return {
        "id": row["id"],
        "received_at": output.format_time(row["received_at"]),
        "event": row["name"],
        **output.copied(row, "action, repository, guid"),
        "bytes": row["size"],
        "deliveries": row["deliveries"],
    }
