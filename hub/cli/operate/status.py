"""`tocsin status`: counts of accounts, hooks and deliveries, and the backlog."""

from hub.cli.console import options, output
from hub.cli.console.grammar import command
from hub.cli.service.configuration import Configuration
from hub.cli.service.daemon_record import damage_met
from store import Connection, Row
from store.clock import SECOND
from store.delivery import deliveries, delivery_queries, event_queries
from store.monitoring import stats, totals
from store.projection import projection_cursor


@command(examples=["tocsin status", "tocsin status --json"])
@options.listing
@options.configured
def status(configuration: Configuration, as_json: bool) -> None:
    """Count accounts, hooks and deliveries, and show the backlog."""
    damage = damage_met(configuration.settings.data_dir)
    with options.opening(configuration.settings) as store:
        found = store.read_sync(_status)
    output.print_record({**found, "damage": damage[0] if damage else None}, as_json=as_json)


def _status(db: Connection) -> Row:
    counted = delivery_queries.count_by_state(db)
    due = deliveries.waiting_hooks(db)
    overdue = [moment for moment in due.values() if moment <= db.now]
    figures = stats.collect(db)
    reflected = projection_cursor.state(db)
    latest = next(iter(event_queries.newest(db, limit=1)), None)
    return {
        **totals.count(db),
        "deliveries_waiting": counted["waiting"],
        "deliveries_delivered": counted["delivered"],
        "deliveries_dead": counted["dead"],
        "deliveries_held": figures.held,
        "hooks_with_backlog": len(overdue),
        "oldest_due_at": output.format_time(figures.oldest_due_at),
        "next_due_at": output.format_time(min(due.values(), default=None)),
        "events_to_become_state": reflected["newest"] - reflected["event_id"],
        "events_left_out_of_it": reflected["skipped"],
        "workers": len(figures.workers),
        "seconds_behind": round(figures.lag / SECOND, 3),
        "latest_event_at": output.format_time(latest["received_at"] if latest else None),
    }
