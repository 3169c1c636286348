"""`tocsin repo`: repositories and the roles of users in them."""

import click

from hub.cli.console import lookups, options, output
from hub.cli.console.arguments import FullNameType, WordType
from hub.cli.console.grammar import noun
from store import Connection, Row, Store
from store.repositories import membership_dump, repositories, repository_removal

FULL_NAME = click.argument("full_name", metavar="OWNER/NAME", type=FullNameType())


@noun(
    examples=["tocsin repo add ada/bell-tower", "tocsin repo show ada/bell-tower"],
    lazy={
        "remove": (
            "accounts.repo_remove:remove",
            "Remove a repository with its hooks, issues and subscriptions.",
        ),
        "grant": ("accounts.repo_access:grant", "Give the user LOGIN a ROLE in a repository."),
        "withdraw": (
            "accounts.repo_access:withdraw",
            "Withdraw the role of the user LOGIN in a repository.",
        ),
        "rename": ("accounts.repo_access:rename", "Rename a repository to NAME."),
    },
)
def repo() -> None:
    """Create, change and remove repositories, and give roles in them."""


@repo.command("list", examples=["tocsin repo list"])
@options.listing_of_store
def list_repositories(store: Store, as_json: bool) -> None:
    """List the repositories."""
    rows = store.read_sync(_rows)
    output.print_rows(
        rows,
        as_json=as_json,
        empty="no repositories: `tocsin repo add OWNER/NAME` makes one",
        columns=("id", "repository", "private", "collaborators", "created_at"),
    )


def _rows(db: Connection) -> list[Row]:
    return [_shape(db, row) for row in repositories.list_all(db)]


def _shape(db: Connection, row: Row) -> Row:
    return {
        "id": row["id"],
        "repository": row["full_name"],
        "private": bool(row["private"]),
        "collaborators": membership_dump.collaborators(db, row["id"]),
        "description": row["description"],
        "created_at": output.format_time(row["created_at"]),
    }


@repo.command(examples=["tocsin repo show ada/bell-tower"])
@FULL_NAME
@options.listing_of_store
def show(store: Store, full_name: tuple[str, str], as_json: bool) -> None:
    """Show a repository with its roles and how much it has."""

    def find(db: Connection) -> Row:
        row = lookups.repository(db, full_name)
        parts = repository_removal.parts(db, row["id"])
        owned = {name: many for name, many in parts.items() if name != "collaborators"}
        return _shape(db, row) | {"default_branch": row["default_branch"]} | owned

    output.print_record(store.read_sync(find), as_json=as_json)


@repo.command(examples=["tocsin repo add ada/bell-tower --private"])
@FULL_NAME
@click.option(
    "--private",
    is_flag=True,
    help="Only users with a role in it see it; members of its organization have one.",
)
@click.option("--description", help="A description of it.")
@click.option(
    "--default-branch",
    type=WordType(),
    default="main",
    show_default=True,
    help="The name of its default branch.",
)
@options.with_store
def add(
    store: Store,
    full_name: tuple[str, str],
    private: bool,
    description: str | None,
    default_branch: str,
) -> None:
    """Create the repository NAME of the user or organization OWNER."""

    def make(db: Connection) -> Row:
        owner = lookups.account(db, full_name[0])
        return repositories.create(
            db,
            owner["id"],
            full_name[1],
            private=private,
            description=description,
            default_branch=default_branch,
        )

    click.echo(f"made repository {store.write_sync(make)['full_name']}")


@repo.command(examples=["tocsin repo edit ada/bell-tower --private"])
@FULL_NAME
@click.option("--private/--public", default=None, help="Whether only users with a role see it.")
@click.option("--description", help="A description of it; an empty one removes it.")
@options.with_store
def edit(
    store: Store, full_name: tuple[str, str], private: bool | None, description: str | None
) -> None:
    """Change a repository. If it becomes private, its WebSub subscriptions end."""
    if private is None and description is None:
        raise click.UsageError("say what to change, such as --private")

    def change(db: Connection) -> None:
        row = lookups.repository(db, full_name)
        repositories.update(
            db,
            row["id"],
            private=bool(row["private"]) if private is None else private,
            description=row["description"] if description is None else description or None,
        )

    store.write_sync(change)
    click.echo(f"changed repository {'/'.join(full_name)}")
