"""`tocsin org join` and `tocsin org leave`: members of an organization."""

import click

from hub.cli.console import lookups, options, suggestions
from hub.cli.console.grammar import command
from hub.cli.service.configuration import Configuration, Settings
from hub.cli.service.expired import report_all_expired, report_expired
from hub.worker_events import WorkerEvents
from store import Connection
from store.assistant import membership_seats
from store.errors import Invalid, Missing


@command(examples=["tocsin org join tower ada --role admin"])
@click.argument("organization")
@click.argument("login", shell_complete=suggestions.logins)
@click.option(
    "--role",
    type=click.Choice(["member", "admin"]),
    default="member",
    show_default=True,
    help="The role in the organization; admin is an owner.",
)
@options.configured
def join(configuration: Configuration, organization: str, login: str, role: str) -> None:
    """Make the user LOGIN a member of ORGANIZATION.

    If every member of the organization has a seat at the assistant, the new member gets one too.
    """
    with options.opening(configuration.settings) as store:
        report_all_expired(store, configuration.settings)
        store.write_sync(_join, configuration.settings, organization, login, role)
    click.echo(f"{login} is {role} of {organization}")


def _join(db: Connection, settings: Settings, organization: str, login: str, role: str) -> None:
    group, joining = lookups.organization(db, organization), lookups.account(db, login)
    if joining["kind"] != "User":
        raise Invalid(f"{login!r} is an organization: only users can be members")
    report_expired(db, settings)
    worker_events = WorkerEvents(settings)
    new, refreshed = membership_seats.join(db, group["id"], joining["id"], role)
    for event, seats in (("assistant_seat.created", new), ("assistant_seat.refreshed", refreshed)):
        if seats:
            worker_events(db, event, seats)


@command(examples=["tocsin org leave tower bob"])
@click.argument("organization")
@click.argument("login", shell_complete=suggestions.logins)
@options.configured
def leave(configuration: Configuration, organization: str, login: str) -> None:
    """End the membership of the user LOGIN in ORGANIZATION.

    The memberships in its teams end, too. Roles that the user was given in single repositories
    stay. The seat at the assistant ends with the billing cycle.
    """
    with options.opening(configuration.settings) as store:
        report_all_expired(store, configuration.settings)
        store.write_sync(_leave, configuration.settings, organization, login)
    click.echo(f"{login} is no member of {organization} now")


def _leave(db: Connection, settings: Settings, organization: str, login: str) -> None:
    group, leaving = lookups.organization(db, organization), lookups.account(db, login)
    report_expired(db, settings)
    ended = membership_seats.leave(db, group["id"], leaving["id"])
    if ended is None:
        raise Missing(
            f"{login} is no member of {organization}: `tocsin org show {organization}` lists them"
        )
    if ended:
        WorkerEvents(settings)(db, "assistant_seat.cancelled", ended)
