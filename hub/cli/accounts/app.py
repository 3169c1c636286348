"""`tocsin app`: applications that hold tokens of users."""

import click

from hub.cli.console import options, output
from hub.cli.console.arguments import PairType
from hub.cli.console.grammar import noun
from hub.cli.console.removal import agree
from store import Connection, Row, Store
from store.accounts import apps

PERMISSION = click.option("--permission", "permissions", multiple=True, type=PairType(),
    help="A permission that an integration's tokens may have, such as checks=write; "
    "repeatable.")  # fmt: skip


@noun(examples=["tocsin app add Lab --owner ada --url https://lab.example/"])
def app() -> None:
    """Create, change and remove applications."""


@app.command("list", examples=["tocsin app list"])
@options.listing
@options.with_store
def list_apps(store: Store, as_json: bool) -> None:
    """List the applications, without their secrets."""
    rows = [_shape(row) for row in store.look(apps.list_all)]
    output.print_rows(
        rows,
        as_json=as_json,
        empty="no apps: `tocsin app add NAME` makes one",
        columns=("id", "name", "owner", "kind", "client_id", "tokens"),
    )


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


@app.command(examples=["tocsin app show Lab"])
@click.argument("name")
@options.listing
@options.with_store
def show(store: Store, name: str, as_json: bool) -> None:
    """Show the application NAME, without its secret."""
    found = store.look(_find, name)
    output.print_record(_shape(found) | {"description": found["description"]}, as_json=as_json)


def _find(db: Connection, name: str) -> Row:
    number = options.app(db, name)["id"]
    return next(row for row in apps.list_all(db) if row["id"] == number)


@app.command(examples=["tocsin app add Lab --owner ada --url https://lab.example/"])
@click.argument("name")
@click.option("--owner", metavar="LOGIN", required=True, help="The account that owns it.")
@click.option("--url", required=True, help="Its home page.")
@click.option("--kind", type=click.Choice(list(apps.KINDS)), default="oauth", show_default=True,
              help="Whether its tokens have scopes or permissions.")  # fmt: skip
@click.option("--description", help="A description of it.")
@PERMISSION
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


@app.command(examples=["tocsin app edit Lab --url https://new-lab.example/"])
@click.argument("name")
@click.option("--url", help="Its home page.")
@click.option("--description", help="A description of it; an empty one removes it.")
@PERMISSION
@options.with_store
def edit(
    store: Store,
    name: str,
    url: str | None,
    description: str | None,
    permissions: tuple[tuple[str, str], ...],
) -> None:
    """Change the application NAME. New permissions replace all present ones."""
    if url is None and description is None and not permissions:
        raise click.UsageError("say what to change, such as --url")

    def change(db: Connection) -> None:
        row = options.app(db, name)
        apps.update(
            db,
            row["id"],
            url=url or row["url"],
            description=row["description"] if description is None else description or None,
            permissions=dict(permissions) or row["permissions"],
        )

    store.do(change)
    click.echo(f"changed app {name}")


@app.command(examples=["tocsin app remove Lab --yes"])
@click.argument("name")
@options.yes
@options.with_store
def remove(store: Store, name: str, yes: bool) -> None:
    """Remove the application NAME and all tokens that it holds."""
    found = store.look(_find, name)
    agree(f"the application {found['name']}", {"tokens": found["tokens"]}, yes=yes)
    store.do(lambda db: apps.remove(db, options.app(db, name)["id"]))
    click.echo(f"removed app {name}")
