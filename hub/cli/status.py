"""`tocsin status`: what there is, and how much is waiting."""

import click

from hub.cli import options, output
from store import (
    Connection,
    Row,
    Store,
    accounts,
    deliveries,
    event_lists,
    figures,
    hooks,
    reflection,
    repositories,
)
from store.clock import SECOND


@click.command()
@options.as_json
@options.with_store
def status(store: Store, as_json: bool) -> None:
    """Say how many there are of each, and what is waiting."""
    found = store.look(_status)
    if as_json:
        click.echo(output.dumps(found))
        return
    for name, value in found.items():
        click.echo(f"{name.replace('_', ' '):22} {output.cell(value)}")


def _status(db: Connection) -> Row:
    made = hooks.every(db)
    counted = deliveries.counts(db)
    due = deliveries.waiting_hooks(db)
    overdue = [moment for moment in due.values() if moment <= db.now]
    standing = figures.look(db)
    reflected = reflection.state(db)
    latest = next(iter(event_lists.newest(db, limit=1)), None)
    return {
        "accounts": len(accounts.every(db)),
        "repositories": len(repositories.every(db)),
        "hooks_active": sum(1 for hook in made if hook["active"]),
        "hooks_failing": sum(1 for hook in made if hook["failing_since"]),
        "hooks_disabled": sum(1 for hook in made if hook["disabled_reason"]),
        "deliveries_waiting": counted["waiting"],
        "deliveries_delivered": counted["delivered"],
        "deliveries_dead": counted["dead"],
        "deliveries_held": standing.held,
        "hooks_with_backlog": len(overdue),
        "oldest_due_at": output.when(standing.oldest_due_at),
        "next_due_at": output.when(min(due.values(), default=None)),
        "events_to_become_state": reflected["newest"] - reflected["event_id"],
        "events_left_out_of_it": reflected["skipped"],
        "workers": len(standing.workers),
        "seconds_behind": round(standing.lag / SECOND, 3),
        "latest_event_at": output.when(latest["received_at"] if latest else None),
    }
