"""`tocsin app key`: the keys with which an app signs its requests for tokens."""

from typing import IO

import click

from hub.cli.console import lookups, options, output
from hub.cli.console.arguments import IdType, InputFile
from hub.cli.console.grammar import noun
from hub.cli.console.removal import agree
from store import Connection, Row, Store
from store.apps import app_keys


@noun(
    examples=["tocsin app key add Mill > mill.pem", "tocsin app key list Mill"],
    former={"revoke": ("remove", "--yes")},
)
def key() -> None:
    """Create, list and remove the keys of applications."""


@key.command("list", examples=["tocsin app key list Mill"])
@click.argument("name", required=False)
@options.listing_of_store
def list_keys(store: Store, name: str | None, as_json: bool) -> None:
    """List the keys of all applications, or of NAME.

    Their private halves are not stored.
    """
    output.print_rows(
        [_shape(row) for row in store.read_sync(_keys, name)],
        as_json=as_json,
        empty="no keys: `tocsin app key add NAME` makes one",
    )


def _keys(db: Connection, name: str | None) -> list[Row]:
    if name is None:
        return app_keys.list_all(db)
    app = lookups.integration(db, name)
    return [{**row, "app": app["name"]} for row in app_keys.of_app(db, app["id"])]


def _shape(row: Row) -> dict[str, object]:
    return {
        "id": row["id"],
        "app": row["app"],
        "fingerprint": f"SHA256:{row['fingerprint']}",
        "created_at": output.format_time(row["created_at"]),
    }


@key.command(examples=["tocsin app key add Mill > mill.pem"])
@click.argument("name")
@click.option("--public-key", "file", type=InputFile(), metavar="FILE",
              help="Store this public key (PEM) instead of making a key; - is standard"
              " input.")  # fmt: skip
@options.with_store
def add(store: Store, name: str, file: IO[str] | None) -> None:
    """Create a key of the application NAME. Its private half is printed only this once.

    The application must be an integration.
    """

    # Other writes do not wait until a key is made.
    private, public = app_keys.generate() if file is None else ("", file.read())
    row = store.write_sync(lambda db: app_keys.add(db, lookups.integration(db, name)["id"], public))
    if private:
        # Only the key goes to standard output, so that it can be redirected into a file.
        click.echo(private, nl=False)
    output.print_note(f"key {row['id']} of app {name}")


@key.command(examples=["tocsin app key remove Mill 3 --yes"])
@click.argument("name")
@click.argument("key_id", metavar="ID", type=IdType())
@options.yes
@options.with_store
def remove(store: Store, name: str, key_id: int, yes: bool) -> None:
    """Remove a key of the application NAME. The server then rejects tokens that it has signed."""

    def end(db: Connection) -> None:
        if not app_keys.revoke(db, lookups.integration(db, name)["id"], key_id):
            raise lookups.missing(f"key {key_id} of app {name}", f"app key list {name}")

    agree(f"the key {key_id} of {name}", {}, yes=yes)
    store.write_sync(end)
    click.echo(f"removed key {key_id} of app {name}")
