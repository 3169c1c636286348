"""`tocsin audit`: the audit log, and a check that it was not changed."""

import click

from hub.cli.console import exits, lookups, options, output
from hub.cli.console.arguments import IdType, MomentType, WordType
from hub.cli.console.grammar import noun
from store import Row, Store
from store.audit import audit_check, audit_search
from store.audit.audit_search import AuditFilter

# The number of entries that one transaction of `verify` reads. A writer waits for one transaction
# at most.
PORTION = 1_000
TABLE = ("id", "at", "who", "what", "on", "outcome")


@noun(
    examples=["tocsin audit list --since 7d --who ada", "tocsin audit verify"],
    former={"--verify": ("verify",)},
)
def audit() -> None:
    """List who changed what, or check that no entry was changed or removed."""


@audit.command("list", examples=["tocsin audit list", "tocsin audit list --since 7d --who ada"])
@click.option("--since", type=MomentType(), help="Only entries since then, such as 2h.")
@click.option(
    "--who",
    type=WordType(),
    metavar="NAME",
    help="Only changes by this login, client id or user@host. If there is none, by all whose name"
    " contains it.",
)
@click.option("--what", type=WordType(), metavar="ACTION",
              help="Only this operation or command. If there is none, all whose name contains"
              " it.")  # fmt: skip
@click.option(
    "--on",
    type=WordType(),
    metavar="TARGET",
    help="Only changes whose target contains this, such as ada/engine or hooks/12.",
)
@click.option("--before", metavar="NUMBER", type=IdType(), help="Only entries before this one.")
@options.limit
@options.listing_of_store
def list_entries(
    store: Store,
    since: int | None,
    who: str | None,
    what: str | None,
    on: str | None,
    before: int | None,
    limit: int,
    as_json: bool,
) -> None:
    """List who changed what, newest first."""
    limits = AuditFilter(since=since, before=before, target=on)
    wanted, partial = store.read_sync(audit_search.find, who or "", what or "", limits)
    found = store.read_sync(audit_search.page, wanted, limit=limit)
    empty = "no such entries: `tocsin audit list` lists all there are"
    output.print_rows([_shape(row) for row in found], as_json=as_json, empty=empty, columns=TABLE)
    for text in partial:
        output.print_note(
            f"more names contain {text} than the search takes in: enter a longer part"
        )
    older = found[-1]["id"] if len(found) == limit else None
    older = older or store.read_sync(audit_search.searched_from, wanted)
    if older and not as_json:
        output.print_note(f"for older entries: --before {older}")


def _shape(row: Row) -> Row:
    fields = row["details"].pop("fields", [])
    return {
        "id": row["id"],
        "at": output.format_time(row["at"]),
        "who": row["actor"],
        "by": row["via"] if row["token_id"] is None else f"{row['via']} {row['token_id']}",
        "address": row["address"],
        "what": row["action"],
        "on": row["target"],
        "outcome": row["outcome"],
        "fields": fields,
        "more": row["details"],
        "request_id": row["request_id"],
    }


@audit.command(examples=["tocsin audit show 812"])
@click.argument("number", metavar="ID", type=IdType())
@options.listing_of_store
def show(store: Store, number: int, as_json: bool) -> None:
    """Show one entry with the names of the changed fields."""
    wanted = AuditFilter(before=number + 1)
    found = next(iter(store.read_sync(audit_search.page, wanted, limit=1)), None)
    if found is None or found["id"] != number:
        raise lookups.missing(f"entry {number}", "audit list")
    output.print_record(_shape(found), as_json=as_json)


@audit.command(examples=["tocsin audit verify", 'tocsin audit verify --expect "$(cat audit-head)"'])
@click.option("--expect", metavar="NUMBER:DIGEST",
              help="Require this entry with its whole digest, from an earlier check.")  # fmt: skip
@options.as_json
@options.with_store
def verify(store: Store, expect: str | None, as_json: bool) -> None:
    """Check that no entry was changed or removed.

    Each entry has a digest over the entry before it. To notice removed entries at the end of the
    log, keep the last NUMBER:DIGEST that this command printed, and pass it to --expect. If an entry
    was changed or removed, the exit code is 1.
    """
    chain = store.read_sync(audit_check.start_check)
    while store.read_sync(audit_check.check, chain, PORTION):
        pass
    if expect is not None and not _holds(store, expect):
        chain.report(f"the entry of --expect is not there: {expect}")
    head = f"{chain.number}:{chain.digest.hex()}"
    if as_json:
        said = {"entries": chain.count, "first": chain.first, "head": head}
        click.echo(output.dumps({**said, "problems": chain.problems}))
    else:
        for problem in chain.problems:
            click.echo(problem)
        click.echo(f"{chain.count} entries from {chain.first} on, up to {head}")
    if chain.problems:
        raise click.exceptions.Exit(exits.FAILED)


def _holds(store: Store, expect: str) -> bool:
    number, _, digest = expect.partition(":")
    if not number.isdecimal() or len(number) > 18:
        raise click.UsageError(f"{expect!r} is not NUMBER:DIGEST")
    return store.read_sync(audit_check.has_digest, int(number), digest)
