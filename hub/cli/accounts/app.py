"""`tocsin app`: applications that hold tokens of users, or act for themselves."""

import click

from hub.cli.console import lookups, options, output, suggestions
from hub.cli.console.arguments import PairType, WordType, distinct_names
from hub.cli.console.event_type import EventType
from hub.cli.console.grammar import noun
from hub.cli.console.removal import agree, remove_in_parts
from store import Connection, Row, Store
from store.accounts import app_list, apps
from store.apps import app_hooks, installations
from store.hooks.event_names import PLATFORM_EVENTS, WILDCARD
from store.registry import app_removal

PERMISSION = click.option("--permission", "permissions", multiple=True, type=PairType(),
    callback=distinct_names,
    help="A permission that an integration's tokens may have, such as checks=write; "
    "repeatable.")  # fmt: skip

EVENT = click.option("--event", "events", multiple=True,
    type=EventType(PLATFORM_EVENTS | {WILDCARD}), shell_complete=suggestions.event_names,
    help="An event that an integration's hook receives; repeatable.")  # fmt: skip
VISIBILITY = click.option("--public/--private", "public", default=None,
    help="Whether everybody may see it, or only its owner.")  # fmt: skip


@noun(
    examples=[
        "tocsin app add Lab --owner ada --url https://lab.example/",
        "tocsin app install Mill acme --repo bell-tower",
    ],
    lazy={
        "key": ("accounts.app_key:key", "Create, list and remove the keys of applications."),
        "manifest": (
            "accounts.app_manifest:manifest",
            "Print a code for making the app that a manifest describes.",
        ),
        "install": (
            "accounts.app_install:install",
            "Install NAME on the account LOGIN, or change it there.",
        ),
        "uninstall": (
            "accounts.app_install:uninstall",
            "Remove NAME from the account LOGIN, with its tokens there.",
        ),
        "suspend": ("accounts.app_install:suspend", "Suspend NAME on the account LOGIN."),
        "resume": (
            "accounts.app_install:resume",
            "End the suspension of NAME on the account LOGIN.",
        ),
        "hook": ("accounts.app_hook:hook", "Create the hook of the application NAME."),
    },
)
def app() -> None:
    """Create, change and remove applications."""


@app.command("list", examples=["tocsin app list"])
@options.listing_of_store
def list_apps(store: Store, as_json: bool) -> None:
    """List the applications, without their secrets."""
    rows = [_shape(row) for row in store.read_sync(app_list.every)]
    output.print_rows(
        rows,
        as_json=as_json,
        empty="no apps: `tocsin app add NAME` makes one",
        columns=("id", "name", "owner", "kind", "client_id", "tokens"),
    )


def _shape(row: Row) -> dict[str, object]:
    return {
        **output.copied(row, "id, name, slug, owner, kind, client_id, url, public, permissions"),
        **output.copied(row, "events, keys, installations, tokens, created_at"),
    }


@app.command(examples=["tocsin app show Lab"])
@click.argument("name")
@options.listing_of_store
def show(store: Store, name: str, as_json: bool) -> None:
    """Show the application NAME and where it is installed."""
    found, on = store.read_sync(_installed, name)
    more = {"description": found["description"], "installed_on": [_installation(row) for row in on]}
    output.print_record(_shape(found) | more, as_json=as_json)


def _installed(db: Connection, name: str) -> tuple[Row, list[Row]]:
    found = _find(db, name)
    return found, installations.of_app(db, found["id"])


def _installation(row: Row) -> dict[str, object]:
    return {
        "id": row["id"],
        "account": row["login"],
        "repositories": "all" if row["every_repository"] else row["repositories"],
        "permissions": row["permissions"],
        "suspended_at": output.format_time(row["suspended_at"]),
    }


def _find(db: Connection, name: str) -> Row:
    found = app_list.get(db, lookups.app(db, name)["id"])
    assert found is not None
    return found


@app.command(examples=["tocsin app add Lab --owner ada --url https://lab.example/"])
@click.argument("name")
@click.option("--owner", metavar="LOGIN", required=True, help="The account that owns it.")
@click.option("--url", type=WordType(), required=True, help="Its home page.")
@click.option("--kind", type=click.Choice(list(apps.KINDS)), default="oauth", show_default=True,
              help="Whether its tokens have scopes or permissions.")  # fmt: skip
@click.option("--description", help="A description of it.")
@PERMISSION
@EVENT
@VISIBILITY
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
    events: tuple[str, ...],
    public: bool | None,
    as_json: bool,
) -> None:
    """Create the application NAME. Print its client id and its client secret, a line each.

    The client secret is printed only this once. Without --private, everybody may see the
    application.
    """

    def make(db: Connection) -> tuple[str, Row]:
        return apps.create(
            db,
            lookups.account(db, owner)["id"],
            name,
            url=url,
            kind=kind,
            description=description,
            permissions=dict(permissions),
            events=events,
            public=public is not False,
        )

    secret, row = store.write_sync(make)
    if as_json:
        click.echo(output.dumps({"client_id": row["client_id"], "client_secret": secret}))
    else:
        click.echo(row["client_id"])
        click.echo(secret)
    output.print_note(f"made app {row['name']}; its client secret is not shown again")


@app.command(examples=["tocsin app edit Lab --url https://new-lab.example/"])
@click.argument("name")
@click.option("--url", type=WordType(), help="Its home page.")
@click.option("--description", help="A description of it; an empty one removes it.")
@PERMISSION
@EVENT
@VISIBILITY
@options.with_store
def edit(
    store: Store,
    name: str,
    url: str | None,
    description: str | None,
    permissions: tuple[tuple[str, str], ...],
    events: tuple[str, ...],
    public: bool | None,
) -> None:
    """Change the application NAME. New permissions and events replace all present ones.

    Installations get further permissions only after `tocsin app install` has accepted them.
    """
    if url is None and description is None and public is None and not permissions and not events:
        raise click.UsageError("say what to change, such as --url")

    def change(db: Connection) -> None:
        row = lookups.app(db, name)
        app_hooks.update_app(
            db,
            row["id"],
            url=url or row["url"],
            description=row["description"] if description is None else description or None,
            permissions=dict(permissions) or row["permissions"],
            events=events or row["events"],
            public=row["public"] if public is None else public,
        )

    store.write_sync(change)
    click.echo(f"changed app {name}")


@app.command(examples=["tocsin app remove Lab --yes"])
@click.argument("name")
@options.yes
@options.with_store
def remove(store: Store, name: str, yes: bool) -> None:
    """Remove the application NAME with its installations and tokens.

    If the command is interrupted, run it again.
    """
    found = store.read_sync(_find, name)
    parts = {"tokens": found["tokens"], "installations": found["installations"]}
    agree(f"the application {found['name']}", parts, yes=yes)
    remove_in_parts(store, lambda db: app_removal.remove_part(db, found["id"]))
    click.echo(f"removed app {name}")
