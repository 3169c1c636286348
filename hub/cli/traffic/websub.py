"""`tocsin websub`: WebSub subscriptions."""

import click

from hub.cli.console import options, output
from store import Connection, Row, Store
from store.delivery import websub as kept


@click.group()
def websub() -> None:
    """List WebSub subscriptions, or end one."""


@websub.command("list")
@click.option("--ended", is_flag=True, help="Also ended subscriptions.")
@options.limit
@options.as_json
@options.with_store
def show(store: Store, ended: bool, limit: int, as_json: bool) -> None:
    """List the WebSub subscriptions, newest first."""
    rows = [_shape(row) for row in store.look(kept.page, limit=limit, ended=ended)]
    output.print_rows(
        rows,
        as_json=as_json,
        empty="no WebSub subscriptions: subscribers ask for them at POST /hub",
    )


def _shape(row: Row) -> Row:
    return {
        "id": row["id"],
        "topic": row["topic"],
        "callback": row["callback"],
        "signed": row["secret"] is not None,
        "lease_ends_at": output.format_time(row["lease_ends_at"]),
        "state": "active" if row["ended_at"] is None else row["reason"] or "ended",
    }


@websub.command()
@click.argument("subscription_id", type=int)
@click.option("--reason", default="revoked by the hub's operator", show_default=True,
              help="The reason that the subscriber gets.")  # fmt: skip
@options.with_store
def revoke(store: Store, subscription_id: int, reason: str) -> None:
    """End a WebSub subscription. Its subscriber gets a denial with the reason."""
    store.do(_revoke, subscription_id, reason)
    click.echo(f"WebSub subscription {subscription_id} is ended")


def _revoke(db: Connection, subscription_id: int, reason: str) -> None:
    if not kept.deny(db, {subscription_id: reason}):
        raise options.missing(f"WebSub subscription {subscription_id}", "websub list")
