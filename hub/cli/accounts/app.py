"""`tocsin app`: applications that hold tokens of users."""

import click

from hub.cli.console import options, output
from hub.cli.console.arguments import PairType
from store import Connection, Row, Store
from store.accounts import apps


@click.group()
def app() -> None:
    """Create, list and remove applications."""


@app.command()
@click.argument("name")
@click.option("--owner", metavar="LOGIN", required=True, help="The account that owns it.")
@click.option("--url", required=True, help="Its home page.")
@click.option("--kind", type=click.Choice(list(apps.KINDS)), default="oauth", show_default=True,
              help="Whether its tokens have scopes or permissions.")  # fmt: skip
@click.option("--description", help="A description of it.")
@click.option("--permission", "permissions", multiple=True, type=PairType(),
              help="A permission that an integration's tokens may have, such as checks=write; "
              "repeatable.")  # fmt: skip
@options.as_json
@options.with_store
def add(
    store: Store,
    name: str,
    owner: str,
    url: str,
    kind: str,
    description: str | None,
    permissions: tuple[tuple[str, str], ...],
    as_json: bool,
) -> None:
    """Create the application NAME. Print its client id and its client secret, a line each."""

    def make(db: Connection) -> tuple[str, Row]:
        return apps.create(
            db,
            options.account(db, owner)["id"],
            name,
            url=url,
            kind=kind,
            description=description,
            permissions=dict(permissions),
        )

    secret, row = store.do(make)
    if as_json:
        click.echo(output.dumps({"client_id": row["client_id"], "client_secret": secret}))
    else:
        click.echo(row["client_id"])
        click.echo(secret)
    output.print_note(f"made app {row['name']}; its client secret is not shown again")


@app.command("list")
@options.as_json
@options.with_store
def list_apps(store: Store, as_json: bool) -> None:
    """List the applications, without their secrets."""
    rows = [_shape(row) for row in store.look(apps.list_all)]
    output.print_rows(rows, as_json=as_json, empty="no apps: `tocsin app add NAME` makes one")


def _shape(row: Row) -> dict[str, object]:
    return {
        "id": row["id"],
        "name": row["name"],
        "owner": row["owner"],
        "kind": row["kind"],
        "client_id": row["client_id"],
        "url": row["url"],
        "permissions": row["permissions"],
        "tokens": row["tokens"],
        "created_at": output.format_time(row["created_at"]),
    }


@app.command()
@click.argument("name")
@options.with_store
def remove(store: Store, name: str) -> None:
    """Remove the application NAME and all tokens that it holds."""

    def end(db: Connection) -> None:
        apps.remove(db, options.app(db, name)["id"])

    store.do(end)
    click.echo(f"removed app {name}")
