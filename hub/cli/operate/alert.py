"""`tocsin alert`: the problems of the moment."""

from collections.abc import Callable

import click

from hub.cli.console import lookups, options, output
from hub.cli.console.arguments import DurationType
from hub.cli.console.grammar import noun
from hub.cli.service import audit_actor
from store import Connection, Row, Store
from store.alerts import problems
from store.alerts.problems import Problem

PROBLEM = click.argument("name", metavar="PROBLEM")


@noun(
    examples=["tocsin alert list", "tocsin alert mute ci.example/503 --for 8h"],
    lazy={
        "mails": (
            "operate.alert_mail:mails",
            "List the latest mails, with the reason if one was not sent.",
        ),
        "test-mail": (
            "operate.alert_mail:test_mail",
            "Send a test message to ADDRESS, and show the server's answer.",
        ),
        "subscribe": (
            "operate.alert_mail:subscribe",
            "Send LOGIN mail about the hook ID again, if they administer it.",
        ),
        "unsubscribe": (
            "operate.alert_mail:unsubscribe",
            "Send LOGIN no more mail about the hook ID.",
        ),
    },
)
def alert() -> None:
    """List the problems of the moment, acknowledge or mute them, and send mail about them."""


@alert.command("list", examples=["tocsin alert list", "tocsin alert list --json"])
@options.listing_of_store
def list_alerts(store: Store, as_json: bool) -> None:
    """List the problems, open ones first.

    A problem is named after a host, and the way in which its hooks fail.
    """
    output.print_rows(
        [_shape(one) for one in store.read_sync(problems.list_all, None)],
        as_json=as_json,
        empty="no problems: `tocsin status` shows the rest",
        columns=("problem", "state", "hooks", "deliveries", "since", "latest"),
    )


@alert.command(examples=["tocsin alert show ci.example/503"])
@PROBLEM
@options.listing_of_store
def show(store: Store, name: str, as_json: bool) -> None:
    """Show a problem with its hooks."""
    found = store.read_sync(_find, name)
    output.print_record({**_shape(found), "hook_ids": found.hook_ids}, as_json=as_json)


@alert.command(examples=["tocsin alert acknowledge ci.example/503"])
@PROBLEM
@options.with_store
def acknowledge(store: Store, name: str) -> None:
    """Record that you know of a problem.

    It is open again if another hook gets this problem, or if a hook recovers and fails again.
    """
    store.write_sync(
        _change, name, lambda db, one: problems.acknowledge(db, one, audit_actor.person())
    )
    click.echo(f"{name} is acknowledged")


@alert.command(examples=["tocsin alert mute ci.example/503 --for 8h"])
@PROBLEM
@click.option(
    "--for",
    "span",
    type=DurationType(),
    default="8h",
    show_default=True,
    help="For how long.",
)
@options.with_store
def mute(store: Store, name: str, span: int) -> None:
    """Mute a problem for a time.

    If every problem is muted, the overview of the dashboard shows no alarm.
    """
    store.write_sync(_change, name, lambda db, one: problems.mute(db, one, db.now + span))
    click.echo(f"{name} is muted; `tocsin alert reopen {name}` ends it")


@alert.command(examples=["tocsin alert reopen ci.example/503"])
@PROBLEM
@options.with_store
def reopen(store: Store, name: str) -> None:
    """Open a problem again that was acknowledged or muted.

    The silences of its hooks end, too.
    """
    store.write_sync(_change, name, problems.reopen)
    click.echo(f"{name} is open again")


def _find(db: Connection, name: str) -> Problem:
    found = next((one for one in problems.list_all(db, None) if one.name == name), None)
    return lookups.known(found, f"problem {name!r}", "alert list")


def _change(db: Connection, name: str, change: Callable[[Connection, Problem], None]) -> None:
    change(db, _find(db, name))


def _shape(problem: Problem) -> Row:
    return {
        "problem": problem.name,
        "state": problem.state,
        "acknowledged_by": problem.acknowledged_by or None,
        "muted_until": output.format_time(problem.muted_until or None),
        "hooks": len(problem.hooks),
        "deliveries": problem.deliveries,
        "since": output.format_time(problem.since),
        "last_at": output.format_time(problem.last_at),
        "latest": problem.label,
    }
