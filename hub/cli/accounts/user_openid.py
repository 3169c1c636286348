"""`tocsin user openid`: who is who at an OpenID Connect provider."""

import click

from hub.cli.console import lookups, options, output, suggestions
from hub.cli.console.arguments import IdType
from hub.cli.console.grammar import noun
from hub.cli.console.removal import agree
from hub.cli.service.configuration import Configuration
from hub.openid_settings import is_secure
from store import Connection, Row, Store
from store.openid import openid_links


@noun(examples=["tocsin user openid list", "tocsin user openid remove 3"])
def openid() -> None:
    """Link users to people at an OpenID provider."""


@openid.command("list", examples=["tocsin user openid list", "tocsin user openid list ada"])
@click.argument("login", required=False, shell_complete=suggestions.logins)
@options.listing_of_store
def list_links(store: Store, login: str | None, as_json: bool) -> None:
    """List the links of all users, or of the user LOGIN.

    A link is made when a person signs in for the first time, or by `add`. From then on the person
    is this user, whatever name the provider gives them.
    """
    output.print_rows(
        [_shape(row) for row in store.read_sync(_links, login)],
        as_json=as_json,
        empty="no links: a person's first sign-in makes one, see `tocsin help sign-in-with-openid`",
    )


def _links(db: Connection, login: str | None) -> list[Row]:
    return openid_links.every(db, None if login is None else lookups.user(db, login)["id"])


def _shape(row: Row) -> dict[str, object]:
    return {
        **output.copied(row, "id, login, issuer, subject"),
        "created_at": output.format_time(row["created_at"]),
        "used_at": output.format_time(row["used_at"]),
    }


@openid.command(
    examples=["tocsin user openid add ada 248289761001 --issuer https://login.example"],
)
@click.argument("login", shell_complete=suggestions.logins)
@click.argument("subject")
@click.option("--issuer", metavar="URL", help="The provider.  [default: the setting openid_issuer]")
@options.configured
def add(configuration: Configuration, login: str, subject: str, issuer: str | None) -> None:
    """Link the user LOGIN to the person whom the provider calls SUBJECT.

    SUBJECT is the claim `sub` of the person's ID tokens. From then on the person signs in as this
    user, whatever name the provider gives them. If the person or the user has a link of this
    provider, remove that link first.
    """
    issuer = issuer or configuration.settings.openid_issuer
    if issuer is None:
        raise click.UsageError("say which provider, with --issuer or the setting openid_issuer")
    if not is_secure(issuer):
        raise click.UsageError("--issuer must be an https URL, without a query")

    def link(db: Connection) -> int:
        return openid_links.link(db, lookups.user(db, login), issuer, subject)

    with options.opening(configuration.settings) as store:
        click.echo(f"made link {store.write_sync(link)} of user {login}")


@openid.command(examples=["tocsin user openid remove 3", "tocsin user openid remove 3 4 --yes"])
@click.argument("link_ids", metavar="ID...", type=IdType(), nargs=-1, required=True)
@options.yes
@options.with_store
def remove(store: Store, link_ids: tuple[int, ...], yes: bool) -> None:
    """Remove the links with these ids: all or none.

    The sessions that a provider opened for their users end. The next sign-in makes a new link, by
    the name that the provider then gives.
    """

    def end(db: Connection) -> None:
        for link in _found(db, link_ids):
            openid_links.remove(db, link)

    if not yes:
        found = store.read_sync(_found, link_ids)
        agree(", ".join(f"the link {row['id']} of {row['login']}" for row in found), {}, yes=yes)
    store.write_sync(end)
    click.echo(f"removed {', '.join(map(str, link_ids))}")


def _found(db: Connection, link_ids: tuple[int, ...]) -> list[Row]:
    """Return the links with these ids. Raises Missing if there is no such link."""
    what = "link {}, and nothing was removed"
    return [
        lookups.known(openid_links.get(db, number), what.format(number), "user openid list")
        for number in dict.fromkeys(link_ids)
    ]
