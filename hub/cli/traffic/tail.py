"""`tocsin delivery list --follow`: new attempts as they are made."""

import time
from collections.abc import Iterator

import click
from rich.text import Text

from hub.cli.console import output, times
from hub.ui import formatting, status_text
from store import Connection, Row, Store
from store.delivery import attempt_feed
from store.delivery.attempt_feed import WINDOW
from store.delivery.attempt_filter import AttemptFilter
from store.delivery.delivery_queries import STATES
from store.delivery.listing.attempt_following import FeedPosition, advance
from store.ordering.delivery_states import BEHIND, WAITING

# Seconds between two queries.
PAUSE = 0.25
# The most windows of past attempts that are searched for the first ones.
WINDOWS = 50
COLOURS = {"good": "green", "bad": "red"}


def follow(
    store: Store, wanted: AttemptFilter, state: str | None, *, first: int, as_json: bool
) -> None:
    """Print the `first` latest attempts and then each new one, until the process ends."""
    console = output.console()
    for row in _made(store, wanted, first):
        shape = _shape(row)
        if state is not None and shape["state"] != state:
            continue
        if as_json:
            click.echo(output.dumps(shape, indent=False))
        else:
            console.print(line_of(row, store.clock.now()), soft_wrap=True)


def _made(store: Store, wanted: AttemptFilter, first: int) -> Iterator[Row]:
    """Yield each attempt once, oldest first."""
    newest = store.read_sync(attempt_feed.latest)
    found = store.read_sync(latest_attempts, wanted, first, newest)
    yield from reversed(found)
    at = FeedPosition(newest)
    while True:
        if store.read_sync(attempt_feed.latest) - at.newest > WINDOW:
            output.print_note("there are more attempts than can be shown: some are left out")
        rows, at = store.read_sync(advance, wanted, at, WINDOW)
        yield from reversed(rows)
        time.sleep(PAUSE)


def latest_attempts(db: Connection, wanted: AttemptFilter, first: int, newest: int) -> list[Row]:
    """Return the `first` latest attempts up to an id, newest first. Search a limited number."""
    rows: list[Row] = []
    before: int | None = newest + 1
    for _ in range(WINDOWS):
        page = attempt_feed.page(db, wanted, limit=first - len(rows), before=before)
        rows += page.rows
        before = page.older
        if len(rows) >= first or before is None:
            break
    return rows


def _shape(row: Row) -> Row:
    """Return an attempt with the keys of a delivery's listing. `id` is the delivery's id."""
    waits = row["state"] in (WAITING, BEHIND)
    return {
        "id": row["delivery_id"],
        **output.copied(row, "event, guid, repository"),
        "hook": row["hook_id"],
        "url": row["url"],
        "state": STATES.get(row["state"]),
        "attempts": row["number"],
        "status": row["status_code"],
        "ms": round(row["duration"] / 1000, 1),
        "at": output.format_time(row["started_at"]),
        "next_at": output.format_time(status_text.next_try(row) if waits else None),
        "problem": row["error"],
    }


def line_of(row: Row, now: int) -> Text:
    """Return the line of an attempt, with what follows it."""
    kind, said = status_text.outcome(row)
    line = Text(f"{times.short(row['started_at'])}  ", style="dim")
    line.append(f"{row['delivery_id']:<7} {output.printable(row['event']):<14} ", style="not dim")
    line.append(output.printable(said), style=f"not dim {COLOURS[kind]}")
    line.append(f"  {formatting.duration(row['duration'])}", style="not dim")
    following = status_text.follows(row)
    if following == "retry":
        line.append(f"  {_again(row, now)}", style="not dim yellow")
    elif following == "over":
        line.append("  dead", style="not dim bold red")
    elif following == "later":
        line.append("  delivered later", style="not dim")
    place = f"  hook {row['hook_id']}  {row['url']}  {row['guid']}"
    line.append(output.printable(place))
    return line


def _again(row: Row, now: int) -> str:
    at = status_text.next_try(row)
    if at is None:
        return f"waits: the hook is {status_text.untried(row)}"
    return f"again {formatting.ago(max(at, now), now)}"
