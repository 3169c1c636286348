"""`tocsin repo`: repositories and the roles of users in them."""

import click

from hub.cli.console import options, output, suggestions
from hub.cli.console.arguments import FullNameType
from store import Connection, Row, Store
from store.repositories import membership_dump, repositories


@click.group()
def repo() -> None:
    """Create and list repositories, and give roles in them."""


@repo.command()
@click.argument("full_name", metavar="OWNER/NAME", type=FullNameType())
@click.option("--private", is_flag=True, help="Only users with a role in it see it.")
@click.option("--description")
@click.option("--default-branch", default="main", show_default=True)
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
        owner = options.account(db, full_name[0])
        return repositories.create(
            db,
            owner["id"],
            full_name[1],
            private=private,
            description=description,
            default_branch=default_branch,
        )

    click.echo(f"made repository {store.do(make)['full_name']}")


@repo.command()
@click.argument("full_name", metavar="OWNER/NAME", type=FullNameType())
@click.argument("login", shell_complete=suggestions.logins)
@click.argument("role", metavar="ROLE", type=click.Choice(repositories.ROLES))
@options.with_store
def grant(store: Store, full_name: tuple[str, str], login: str, role: str) -> None:
    """Give the user LOGIN a ROLE in a repository: read, triage, write, maintain or admin."""

    def give(db: Connection) -> None:
        where, who = options.repository(db, full_name), options.account(db, login)
        repositories.grant(db, where["id"], who["id"], role)

    store.do(give)
    click.echo(f"{login} has the role {role} in {'/'.join(full_name)}")


@repo.command()
@click.argument("full_name", metavar="OWNER/NAME", type=FullNameType())
@click.argument("name")
@options.with_store
def rename(store: Store, full_name: tuple[str, str], name: str) -> None:
    """Rename a repository to NAME. The old name leads to it until another repository uses that
    name.
    """
    row = store.do(lambda db: repositories.rename(db, options.repository(db, full_name), name))
    click.echo(f"{'/'.join(full_name)} is {row['full_name']} now")


@repo.command("list")
@options.as_json
@options.with_store
def list_repositories(store: Store, as_json: bool) -> None:
    """List the repositories."""
    rows = store.look(_rows)
    output.print_rows(rows, as_json=as_json, empty="no repositories: `tocsin repo add OWNER/NAME`")


def _rows(db: Connection) -> list[Row]:
    return [
        {
            "id": row["id"],
            "repository": row["full_name"],
            "private": bool(row["private"]),
            "collaborators": membership_dump.collaborators(db, row["id"]),
            "description": row["description"],
            "created_at": output.format_time(row["created_at"]),
        }
        for row in repositories.list_all(db)
    ]
