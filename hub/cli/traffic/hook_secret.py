"""`tocsin hook rotate-secret`: another secret for a hook, without a break."""

import click

from hub.cli.console import options, output
from hub.cli.console.grammar import command
from hub.cli.traffic.hook import HOOK_ID, change, find
from hub.cli.traffic.rotation import excluded_by_end, overlapping, refuse_third, until
from store import Connection, Row, Store
from store.errors import Invalid
from store.hooks import hook_secrets, hooks


def _rotate(db: Connection, /, hook_id: int, value: str, overlap: int) -> Row:
    hook = hooks.lock(db, find(db, hook_id))
    former = hook_secrets.previous_secret(db, hook)
    # A return to the former secret cuts no receiver off.
    if not hook_secrets.has_secret(db, hook, value) and (former is None or former[0] != value):
        refuse_third(hook_secrets.overlap_end(db, hook), overlap, "secret")
    return hooks.update(db, hook, secret=value, overlap=overlap)


@command(
    "rotate-secret",
    examples=["tocsin hook rotate-secret 1 --overlap 24h"],
    exclusions=[excluded_by_end("--secret")],
)
@HOOK_ID
@click.option(
    "--secret",
    help="The new one; `-` reads standard input.  [default: a random one, which is shown]",
)
@overlapping("secret")
@options.with_store
def rotate_secret(store: Store, hook_id: int, secret: str | None, overlap: int, end: bool) -> None:
    """Give a hook a new secret. For a while, deliveries have signatures with both secrets.

    X-Hub-Signature-256 is made with the old secret until the receiver rejects it, and then with the
    new one. X-Hub-Signature-256-Alternate is made with the other secret. webhook-signature has both
    signatures.
    """
    if end:
        store.write_sync(change, hook_id, overlap=0)
        click.echo(f"hook {hook_id}: only its current secret signs")
        return
    value, is_random = options.new_secret(secret)
    if not value:
        raise Invalid("a new secret must have at least one character")
    row = store.write_sync(_rotate, hook_id, value, overlap)
    output.print_note(f"hook {hook_id} has a new secret{until(row['previous_until'])}")
    # If nothing reads standard output, this ends the command.
    if is_random:
        options.show_secret(value, "the hook's")
