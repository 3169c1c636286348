"""`tocsin delivery redeliver`: sends single deliveries again."""

import click

from hub.cli.console import options, suggestions
from hub.cli.console.arguments import IdType
from hub.cli.console.grammar import command
from hub.cli.traffic.delivery_show import find
from store import Connection, Row, Store
from store.delivery import deliveries
from store.errors import Missing
from store.hooks import hooks
from store.hooks.hook_ordering import is_stopped


@command(examples=["tocsin delivery redeliver 2", "tocsin delivery redeliver 2 3 5"])
@click.argument("delivery_ids", metavar="ID...", type=IdType(), nargs=-1, required=True,
                shell_complete=suggestions.delivery_ids)  # fmt: skip
@options.with_store
def redeliver(store: Store, delivery_ids: tuple[int, ...]) -> None:
    """Send deliveries again under the same delivery ids: all or none."""
    twice = next((one for one in delivery_ids if delivery_ids.count(one) > 1), None)
    if twice is not None:
        raise click.UsageError(f"delivery {twice} is named twice")
    made = store.write_sync(_again, delivery_ids)
    for old, new in zip(delivery_ids, made, strict=True):
        click.echo(f"delivery {old} {new}")


def _again(db: Connection, delivery_ids: tuple[int, ...]) -> list[str]:
    """Redeliver them. Return what happens to each, with the id of the new delivery."""
    made = []
    for delivery_id in delivery_ids:
        row = find(db, delivery_id)
        hook = hooks.by_id(db, row["hook_id"])
        if hook is None or hook["deleted_at"] is not None:
            raise Missing(f"the hook of delivery {delivery_id} was removed")
        new = deliveries.redeliver(db, row["event_id"], row["hook_id"], row["repo_id"])
        made.append(_prospect(hook, new))
    return made


def _prospect(hook: Row, delivery_id: int) -> str:
    if hook["paused_at"] is not None:
        return f"waits as delivery {delivery_id} until hook {hook['id']} is resumed"
    if is_stopped(hook):
        return f"waits as delivery {delivery_id} until hook {hook['id']} is enabled"
    return f"is sent again as delivery {delivery_id}"
