"""`tocsin delivery`: deliveries, and the attempts as they are made."""

import click

from hub.cli.console import lookups, options, output, suggestions
from hub.cli.console.arguments import FullNameType, IdType, MomentType, WordType
from hub.cli.console.exclusions import Exclusion, is_given
from hub.cli.console.grammar import noun
from hub.cli.console.interactive import until_interrupted
from hub.ui.status_text import next_try
from store import Row, Store
from store.delivery import delivery_queries
from store.delivery.attempt_filter import AttemptFilter
from store.delivery.delivery_queries import STATE_NAMES, STATES
from store.ordering.delivery_states import FILTERED

# The number of earlier attempts that --follow shows first, unless --limit is given.
FIRST = 10
TABLE = ("id", "event", "hook", "url", "state", "status", "received_at", "problem")


@noun(
    examples=["tocsin delivery list --state waiting", "tocsin delivery show 2"],
    lazy={
        "show": (
            "traffic.delivery_show:show",
            "Show one delivery with all its attempts, request and response.",
        ),
        "redeliver": (
            "traffic.redeliver:redeliver",
            "Send deliveries again under the same delivery ids: all or none.",
        ),
    },
)
def delivery() -> None:
    """List deliveries, follow them, or send some again."""


@delivery.command(
    "list",
    examples=[
        "tocsin delivery list --state waiting",
        "tocsin delivery list --hook 1 --since 2h",
        "tocsin delivery list --host ci.example --since 4h --until 2h",
        "tocsin delivery list --follow",
    ],
    exclusions=[
        Exclusion("--follow", ["--since", "--until"], "--follow shows attempts from now on"),
        Exclusion("--host", ["--hook"], "a hook has one host"),
    ],
)
@click.option("--state", type=click.Choice(STATE_NAMES), help="Only deliveries in this state.")
@click.option("--hook", "hook_id", type=IdType(), metavar="ID",
              help="Only deliveries to this hook.",
              shell_complete=suggestions.hook_ids)  # fmt: skip
@click.option("--repo", "full_name", type=FullNameType(), help="Only this repository.")
@click.option(
    "--event",
    type=WordType(),
    help="Only events of this name.",
    shell_complete=suggestions.event_names,
)
@click.option(
    "--since",
    type=MomentType(),
    help="Only events received since then, such as 1h. Not with --follow.",
)
@click.option("--until", type=MomentType(), help="Only events received before. Not with --follow.")
@click.option("--host", type=WordType(), help="Only to hooks at this host, or host:port.")
@click.option("--follow", is_flag=True,
              help="Show each new attempt, until Ctrl-C, oldest first.")  # fmt: skip
@options.limit
@options.listing_of_store
def list_deliveries(
    store: Store,
    state: str | None,
    hook_id: int | None,
    full_name: tuple[str, str] | None,
    event: str | None,
    since: int | None,
    until: int | None,
    host: str | None,
    follow: bool,
    limit: int,
    as_json: bool,
) -> None:
    """List the deliveries, newest first, each with its last attempt.

    With --follow, show the 10 latest attempts, or as many as --limit says, and then each attempt as
    it is made. With --json too, each attempt is a line of JSON.
    """
    store.read_sync(lookups.check_hook, hook_id)
    repo_id = store.read_sync(lookups.repository_id, full_name)
    hook_ids = store.read_sync(lookups.hooks_of_host, host)
    if follow:
        events_of = None if repo_id is None else [repo_id]
        wanted = AttemptFilter(
            hook_id=hook_id, event=event or "", hook_ids=hook_ids, events_of=events_of
        )
        _follow(store, wanted, state, limit, as_json)
        return
    rows = store.read_sync(
        delivery_queries.page,
        limit=limit,
        state=state,
        hook_id=hook_id,
        repo_id=repo_id,
        event=event,
        since=since,
        until=until,
        hook_ids=hook_ids,
    )
    rows = [shape(row) for row in rows]
    output.print_rows(
        rows,
        as_json=as_json,
        empty="no such deliveries: `tocsin hook list` lists the hooks,"
        " `tocsin event list` the received events",
        columns=TABLE,
    )


def _follow(
    store: Store, wanted: AttemptFilter, state: str | None, limit: int, as_json: bool
) -> None:
    if state == STATES[FILTERED]:
        raise click.UsageError("--follow shows attempts, and filtered deliveries have none")
    first = limit if is_given(click.get_current_context(), "--limit") else FIRST
    with until_interrupted():
        # Imported here, because most listings are without --follow.
        from hub.cli.traffic import tail

        tail.follow(store, wanted, state, first=first, as_json=as_json)


def shape(row: Row) -> Row:
    duration = row["duration"]
    return {
        **output.copied(row, "id, event, guid"),
        "hook": row["hook_id"],
        **output.copied(row, "url, state, attempts"),
        "status": row["status_code"],
        "ms": None if duration is None else round(duration / 1000, 1),
        "received_at": output.format_time(row["received_at"]),
        "next_at": output.format_time(next_try(row) if row["state"] == "waiting" else None),
        "problem": row["reason"] or row["error"],
    }
