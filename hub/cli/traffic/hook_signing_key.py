"""`tocsin hook rotate-key`: another signing key for a hook, without a break."""

import click

from hub.cli.console import options, output
from hub.cli.console.grammar import command
from hub.cli.traffic.hook import HOOK_ID, find
from hub.cli.traffic.rotation import excluded_by_end, overlapping, refuse_third, until
from store import Connection, Row, Store
from store.crypto import ed25519
from store.hooks import hooks, signing_keys


@command(
    "rotate-key",
    examples=["tocsin hook rotate-key 1 --overlap 24h"],
    exclusions=[excluded_by_end("--key")],
)
@HOOK_ID
@click.option(
    "--key",
    help="The new private key, whsk_...; `-` reads standard input.  [default: a random one]",
)
@overlapping("key")
@options.with_store
def rotate_key(store: Store, hook_id: int, key: str | None, overlap: int, end: bool) -> None:
    """Give a hook a new key for the signature v1a. For a while, the old key signs too.

    The public key is printed. The private key is stored encrypted, and never shown.
    """
    given = options.given_secret(key)

    def change(db: Connection) -> list[Row]:
        hook = hooks.lock(db, find(db, hook_id))
        if end:
            signing_keys.end_overlap(db, hook)
        else:
            if not signing_keys.is_present(db, hook_id, given):
                refuse_third(signing_keys.overlap_end(db, hook_id), overlap, "key")
            signing_keys.rotate(db, hook, given, overlap)
        return signing_keys.public_keys(db, hook_id)

    found = store.write_sync(change)
    for row in found[:1]:
        click.echo(ed25519.write_public(signing_keys.public_bytes(row)))
    both = until(found[1]["ends_at"] if len(found) > 1 else None)
    output.print_note(f"this is the public key of hook {hook_id}{both}")
