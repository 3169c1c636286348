"""Commands that switch a hook on and off, pause it, silence it, ping it, or remove it."""

import click

from hub.cli.console import options, output
from hub.cli.console.arguments import DurationType
from hub.cli.console.exclusions import Exclusion
from hub.cli.console.grammar import command
from hub.cli.console.removal import agree
from hub.cli.service import audit_actor
from hub.cli.service.configuration import Configuration
from hub.cli.traffic import api_context
from hub.cli.traffic.hook import HOOK_ID, change, find
from hub.ingest import hook_events
from store import Connection, Row, Store
from store.errors import Conflict
from store.hook_state import hook_health, hook_pauses, hook_retries, hook_silences


@command(examples=["tocsin hook enable 1"])
@HOOK_ID
@options.with_store
def enable(store: Store, hook_id: int) -> None:
    """Make a hook active, and clear the reason why it was disabled."""
    store.write_sync(change, hook_id, active=True)
    click.echo(f"hook {hook_id} is active")


@command(examples=["tocsin hook disable 1"])
@HOOK_ID
@options.with_store
def disable(store: Store, hook_id: int) -> None:
    """Make a hook inactive: it gets no new deliveries.

    Each delivery that waits for it is dead when its next attempt is due, unless the hook is active
    again by then. If the hook is ordered, they wait. `tocsin delivery redeliver` still sends to it.
    """
    store.write_sync(change, hook_id, active=False)
    click.echo(f"hook {hook_id} is inactive")


@command(examples=["tocsin hook pause 1"])
@HOOK_ID
@options.with_store
def pause(store: Store, hook_id: int) -> None:
    """Pause a hook: its deliveries wait until it is resumed.

    Events still arrive, and no delivery is lost. Requests in flight are finished.
    """
    store.write_sync(lambda db: hook_pauses.pause(db, find(db, hook_id)))
    click.echo(f"hook {hook_id} is paused; `tocsin hook resume {hook_id}` ends the pause")


@command(examples=["tocsin hook resume 1"])
@HOOK_ID
@options.with_store
def resume(store: Store, hook_id: int) -> None:
    """End the pause of a hook: what waits for it is sent now."""

    def end(db: Connection) -> tuple[Row, int]:
        hook = find(db, hook_id)
        hook_pauses.resume(db, hook)
        return hook, _count_waiting(db, hook_id)

    hook, waiting = store.write_sync(end)
    state = "was not paused" if hook["paused_at"] is None else "is resumed"
    click.echo(f"hook {hook_id} {state}; {_waiting(waiting)}")
    if not hook["active"]:
        output.print_note(f"it is inactive: `tocsin hook enable {hook_id}` makes it active")


@command(examples=["tocsin hook retry 1"])
@HOOK_ID
@options.with_store
def retry(store: Store, hook_id: int) -> None:
    """Try what waits for a hook now, and not at its next attempt.

    An open circuit breaker closes, and a pause that the receiver asked for with Retry-After ends.
    The worker notices that within some seconds. At most 5,000 deliveries are made due. A pull hook
    is an error, because its receiver fetches the deliveries.
    """
    many = store.write_sync(lambda db: hook_retries.retry_now(db, find(db, hook_id)))
    more = " or more" if many >= hook_retries.MOST else ""
    due = "1 delivery is" if many == 1 else f"{many}{more} deliveries are"
    click.echo(f"hook {hook_id}: {due} tried now")


def _count_waiting(db: Connection, hook_id: int) -> int:
    health = hook_health.get(db, hook_id)
    return 0 if health is None else int(health["waiting"])


def _waiting(many: int) -> str:
    more = " or more" if many >= hook_health.MOST else ""
    return "1 delivery waits for it" if many == 1 else f"{many}{more} deliveries wait for it"


@command(
    examples=["tocsin hook silence 1 --for 8h", "tocsin hook silence 1 --end"],
    exclusions=[Exclusion("--end", ["--for"], "one ends the silence, the other begins it")],
)
@HOOK_ID
@click.option(
    "--for", "span", type=DurationType(), default="8h", show_default=True, help="For how long."
)
@click.option("--end", is_flag=True, help="End the silence now.")
@options.with_store
def silence(store: Store, hook_id: int, span: int, end: bool) -> None:
    """Silence a hook for a time: it begins no alert.

    Its problems are muted, and its deliveries go on. If it still fails after that time, the alert
    begins then.
    """

    def change(db: Connection) -> str:
        ids = [find(db, hook_id)["id"]]
        if end:
            silenced = bool(hook_silences.active(db, ids))
            hook_silences.end(db, ids)
            return "is not silenced any more" if silenced else "was not silenced"
        until = db.now + span
        hook_silences.silence(db, ids, until, audit_actor.person())
        ends = f"`tocsin hook silence {hook_id} --end` ends it before"
        return f"is silenced until {output.plain(output.format_time(until))}; {ends}"

    click.echo(f"hook {hook_id} {store.write_sync(change)}")


@command(examples=["tocsin hook ping 1"])
@HOOK_ID
@options.configured
def ping(configuration: Configuration, hook_id: int) -> None:
    """Send a ping to a hook, whether it subscribes to pings or not.

    If the hook is inactive, this is an error.
    """

    def send(db: Connection) -> None:
        hook = find(db, hook_id)
        if not hook["active"]:
            raise Conflict(f"hook {hook_id} is inactive: `tocsin hook enable {hook_id}` first")
        hook_events.ping(api_context.for_hook(db, configuration.settings, hook), hook)

    with options.opening(configuration.settings) as store:
        store.write_sync(send)
    click.echo(f"a ping is on its way to hook {hook_id}")


@command(examples=["tocsin hook remove 1", "tocsin hook remove 1 --yes"])
@HOOK_ID
@options.yes
@options.configured
def remove(configuration: Configuration, hook_id: int, yes: bool) -> None:
    """Remove a hook. Deliveries that wait for it are not sent.

    If it subscribes to `meta`, its last event reports the removal. Its past deliveries stay until
    retention deletes them.
    """

    def look(db: Connection) -> tuple[Row, int]:
        return find(db, hook_id), _count_waiting(db, hook_id)

    def end(db: Connection) -> None:
        hook = find(db, hook_id)
        hook_events.delete(api_context.for_hook(db, configuration.settings, hook), hook)

    with options.opening(configuration.settings) as store:
        hook, waiting = store.read_sync(look)
        agree(f"hook {hook_id} to {hook['url']}", {"waiting_deliveries": waiting}, yes=yes)
        store.write_sync(end)
    click.echo(f"removed hook {hook_id}")
