"""Alerts by mail: the mails, a test message, and who gets mail about a hook."""

from collections.abc import Callable

import click

from hub.cli.console import lookups, options, output, suggestions
from hub.cli.console.arguments import IdType
from hub.cli.console.grammar import command
from hub.cli.operate.job import run_now
from hub.cli.service.configuration import Configuration
from store import Connection, Row, Store
from store.accounts import email_address
from store.alerts.alerts import INSTALLATION
from store.errors import Unusable
from store.mail import notices, outbox, subscriptions

OFF = "no SMTP server is set: `mail_host` and `mail_from` turn alerts by mail on"
LOGIN = click.argument("login", shell_complete=suggestions.logins)
HOOK_ID = click.argument(
    "hook_id", metavar="ID", type=IdType(), shell_complete=suggestions.hook_ids
)


@command(examples=["tocsin alert mails", "tocsin alert mails --json"])
@options.limit
@options.listing_of_store
def mails(store: Store, limit: int, as_json: bool) -> None:
    """List the latest mails, with the reason if one was not sent."""
    output.print_rows(
        store.read_sync(_mails, limit),
        as_json=as_json,
        empty="no mails: alerts are only sent to people with a verified address",
        columns=("id", "to", "state", "alerts", "created_at", "attempts", "error"),
    )


def _mails(db: Connection, limit: int) -> list[Row]:
    return [_shape(row) for row in notices.list_mails(db, limit)]


def _shape(row: Row) -> Row:
    return {
        "id": row["id"],
        "to": row["address"],
        **output.copied(row, "login, kind, state, alerts, created_at, ended_at"),
        "next_attempt_at": output.format_time(row["due_at"]),
        "attempts": row["attempts"],
        "error": row["error"],
    }


@command(examples=["tocsin alert test-mail ada@tower.example"])
@click.argument("address")
@options.configured
def test_mail(configuration: Configuration, address: str) -> None:
    """Send a test message to ADDRESS, and show the server's answer.

    The running worker sends it. If there is none, this process sends it.
    """
    settings = configuration.settings
    if settings.mail_host is None:
        raise Unusable(OFF)
    try:
        wanted = email_address.normalize(address)
    except ValueError as error:
        raise click.BadParameter(f"{address!r} is no email address: {error}") from None
    with options.opening(settings) as store:
        number = store.write_sync(outbox.add, outbox.TEST, wanted)
        while (row := _ended(store, number)) is None:
            done = run_now(store, settings, "mail")
            if done["outcome"] == "failed":
                raise click.ClickException(f"the job mail failed: {done['error']}")
    if row["outcome"] != outbox.SENT:
        raise click.ClickException(f"{settings.mail_host}: {row['error']}")
    click.echo(f"{settings.mail_host} has accepted the message to {wanted}")


def _ended(store: Store, number: int) -> Row | None:
    row = store.read_sync(outbox.get, number)
    return row if row is not None and row["outcome"] is not None else None


@command(examples=["tocsin alert unsubscribe ada 7"])
@LOGIN
@HOOK_ID
@options.with_store
def unsubscribe(store: Store, login: str, hook_id: int) -> None:
    """Send LOGIN no more mail about the hook ID.

    0 stands for alerts that are about the installation and no hook.
    """
    store.write_sync(_change, login, hook_id, subscriptions.unsubscribe)
    click.echo(f"{login} gets no mail about {_named(hook_id)}")


@command(examples=["tocsin alert subscribe ada 7"])
@LOGIN
@HOOK_ID
@options.with_store
def subscribe(store: Store, login: str, hook_id: int) -> None:
    """Send LOGIN mail about the hook ID again, if they administer it.

    0 stands for alerts that are about the installation and no hook.
    """
    store.write_sync(_change, login, hook_id, subscriptions.subscribe)
    click.echo(f"{login} gets mail about {_named(hook_id)}, if they administer it")


def _change(
    db: Connection, login: str, hook_id: int, change: Callable[[Connection, int, list[int]], object]
) -> None:
    account_id = lookups.user(db, login)["id"]
    if hook_id != INSTALLATION:
        lookups.check_hook(db, hook_id)
    change(db, account_id, [hook_id])


def _named(hook_id: int) -> str:
    return f"hook {hook_id}" if hook_id else "the whole installation"
