"""The confirmation of removals: a command prints what it will remove, and asks first."""

import sys
import time
from collections.abc import Callable, Mapping

import click

from hub.ui.formatting import pluralize
from store import Connection, Store

# Seconds between two parts of a removal, so that other writers get their turn.
PAUSE = 0.02

WORDS = {
    "repositories": ("repository", "repositories"),
    "hooks": ("hook", "hooks"),
    "waiting_deliveries": ("waiting delivery", "waiting deliveries"),
    "websub_subscriptions": ("WebSub subscription", "WebSub subscriptions"),
    "issues": ("issue", "issues"),
    "collaborators": ("collaborator's role", "collaborators' roles"),
    "members": ("membership", "memberships"),
    "teams": ("team", "teams"),
    "tokens": ("token", "tokens"),
    "installations": ("installation", "installations"),
    "apps": ("application", "applications"),
    "sources": ("source of signed events", "sources of signed events"),
}
"""The singular and the plural of each kind of part that is removed together with a thing."""


def can_ask() -> bool:
    """Return whether standard input is a terminal, at which a person can answer."""
    return sys.stdin.isatty()


def agree(what: str, parts: Mapping[str, int], *, yes: bool) -> None:
    """Print what is removed together with a thing, and ask. With `yes`, do neither.

    `parts` maps keys of WORDS to numbers of parts. Raises Abort if the answer is no, and UsageError
    if standard input is not a terminal.
    """
    if yes:
        return
    click.echo(f"This removes {what}{_and_all(parts)}.", err=True)
    if not can_ask():
        raise click.UsageError("add --yes: there is no terminal on which to ask")
    click.confirm("Remove it?", abort=True, err=True)


def remove_in_parts(store: Store, remove_part: Callable[[Connection], bool]) -> None:
    """Call `remove_part` in one transaction after another, until it returns True.

    A removal that was interrupted goes on when the command is run again.
    """
    while not store.write_sync(remove_part):
        time.sleep(PAUSE)


def _and_all(parts: Mapping[str, int]) -> str:
    named = [pluralize(many, *WORDS[name]) for name, many in parts.items() if many]
    if not named:
        return ""
    *first, last = named
    return f", with {', '.join(first)} and {last}" if first else f", with {last}"
