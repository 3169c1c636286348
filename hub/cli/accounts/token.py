"""`tocsin token`: tokens with which programs authenticate."""

from typing import Any

import click

from hub.cli.console import lookups, options, output, suggestions
from hub.cli.console.arguments import DurationType, IdType, PairType, distinct_names
from hub.cli.console.grammar import noun
from hub.cli.console.removal import agree
from store import Connection, Row, Store
from store.accounts import grants, tokens
from store.apps import installation_tokens
from store.errors import Invalid


@noun(
    examples=["tocsin token add ada --scope repo --note ci", "tocsin token remove 7"],
    former={"create": ("add",), "revoke": ("remove", "--yes")},
)
def token() -> None:
    """Create, list and remove tokens."""


@token.command(examples=["tocsin token add ada --scope repo --note ci --expires 30d"])
@click.argument("login", shell_complete=suggestions.logins)
@click.option("--kind", type=click.Choice(list(tokens.KINDS)),
              help="The kind of token. With --app, only installation.  [default: personal, or the"
              " app's kind]")  # fmt: skip
@click.option("--app", metavar="NAME",
              help="The application that holds it: for the user or, with --kind installation,"
              " for itself.")  # fmt: skip
@click.option(
    "--fingerprint",
    help="A name that tells apart tokens of one application and user; not for an installation.",
)
@click.option("--scope", "scopes", multiple=True, metavar="SCOPE",
              help="A scope, such as repo or admin:repo_hook; repeatable. Not for an"
              " installation.")  # fmt: skip
@click.option("--permission", "permissions", multiple=True, type=PairType(),
              callback=distinct_names,
              help="For a kind with permissions, such as metadata=read; repeatable.  [default for"
              " an app: all that it has]")  # fmt: skip
@click.option("--where-installed", is_flag=True,
              help="With --app, for an integration: a token of the user that is only valid where"
              " the application is installed.  [default: valid everywhere]")  # fmt: skip
@click.option("--note", help="A note on its purpose.")
@click.option(
    "--expires",
    type=DurationType(),
    help="How long it is valid, such as 30d.  [default: without end; an installation's, 1h]",
)
@options.with_store
def add(
    store: Store,
    login: str,
    kind: str | None,
    app: str | None,
    fingerprint: str | None,
    scopes: tuple[str, ...],
    permissions: tuple[tuple[str, str], ...],
    where_installed: bool,
    note: str | None,
    expires: int | None,
) -> None:
    """Create a token of the user LOGIN. Its value is printed only this once.

    With --kind installation, LOGIN is the account on which the application is installed.
    """
    _check(kind, app, fingerprint, scopes)
    if where_installed and (app is None or kind is not None):
        raise click.UsageError("--where-installed is for an application's token of a user")
    allowed = dict(permissions)

    def make(db: Connection) -> tuple[str, Row]:
        account_id = lookups.account(db, login)["id"]
        ends = None if expires is None else db.now + expires
        given: dict[str, Any] = {"note": note, "expires_at": ends}
        if app is not None and kind is not None:
            found = lookups.installation(db, app, login)
            return installation_tokens.create(db, found, wanted=allowed, **given)
        given |= {"scopes": scopes, "permissions": allowed, "fingerprint": fingerprint}
        if app is not None:
            holder = lookups.app(db, app)
            if where_installed:
                lookups.check_installable(holder)
            return grants.issue(db, holder, account_id, where_installed=where_installed, **given)
        return tokens.create(db, account_id, kind=kind or "personal", **given)

    # Only the value goes to standard output, so that a script can read it.
    value, row = store.write_sync(make)
    click.echo(value)
    output.print_note(f"token {row['id']} of {login}; this value is not shown again")


def _check(
    kind: str | None, app: str | None, fingerprint: str | None, scopes: tuple[str, ...]
) -> None:
    """Raise UsageError if the options exclude each other, and Invalid for an unknown scope."""
    installed = kind == "installation"
    if app is not None and kind is not None and not installed:
        raise click.UsageError("an app's token has the app's kind, or the kind installation")
    if installed and app is None:
        raise click.UsageError("a token of an installation belongs to an app: give --app too")
    if fingerprint is not None and app is None:
        raise click.UsageError("--fingerprint is for an application's token: give --app too")
    if installed and (scopes or fingerprint is not None):
        raise click.UsageError(
            "an installation's token has permissions, and no scopes or fingerprint"
        )
    unknown = sorted(set(scopes) - tokens.SCOPES)
    if unknown:
        raise Invalid(
            f"{unknown[0]!r} is no scope; the scopes are {', '.join(sorted(tokens.SCOPES))}"
        )


@token.command("list", examples=["tocsin token list"])
@options.listing_of_store
def list_tokens(store: Store, as_json: bool) -> None:
    """List the tokens, without their values."""
    rows = [_shape(row) for row in store.read_sync(tokens.list_all)]
    output.print_rows(
        rows,
        as_json=as_json,
        empty="no tokens: `tocsin token add LOGIN` makes one",
        columns=("id", "login", "kind", "ends_with", "note", "scopes", "expires_at"),
    )


def _shape(row: Row) -> dict[str, object]:
    return {
        **output.copied(row, "id, login, kind, app, fingerprint"),
        "ends_with": row["last_eight"],
        **output.copied(row, "note, scopes, permissions, where_installed, created_at, expires_at"),
    }


@token.command(examples=["tocsin token show 7"])
@click.argument("token_id", metavar="ID", type=IdType())
@options.listing_of_store
def show(store: Store, token_id: int, as_json: bool) -> None:
    """Show the token with this ID, without its value."""
    output.print_record(_shape(store.read_sync(_find, token_id, "")), as_json=as_json)


def _find(db: Connection, token_id: int, more: str) -> Row:
    found = next((row for row in tokens.list_all(db) if row["id"] == token_id), None)
    return lookups.known(found, f"token {token_id}{more}", "token list")


@token.command(examples=["tocsin token remove 7", "tocsin token remove 7 8 --yes"])
@click.argument("token_ids", metavar="ID...", type=IdType(), nargs=-1, required=True)
@options.yes
@options.with_store
def remove(store: Store, token_ids: tuple[int, ...], yes: bool) -> None:
    """Remove the tokens with these ids: all or none. They are rejected from then on."""

    def end(db: Connection) -> None:
        for token_id in token_ids:
            if not tokens.revoke(db, token_id):
                raise lookups.missing(f"token {token_id}, and nothing was removed", "token list")

    if not yes:
        found = [
            store.read_sync(_find, number, ", and nothing was removed") for number in token_ids
        ]
        agree(", ".join(f"the token {row['id']} of {row['login']}" for row in found), {}, yes=yes)
    store.write_sync(end)
    click.echo(f"removed {', '.join(map(str, token_ids))}")
