"""Finding what the arguments of a command name: accounts, apps, repositories, hooks."""

from collections.abc import Iterable
from typing import TypeVar

from store import Connection, Row
from store.accounts import accounts, apps, organizations
from store.apps import installations
from store.errors import Invalid, Missing
from store.hooks import hooks
from store.monitoring import name_search
from store.repositories import repository_names

T = TypeVar("T")


def check_hook(db: Connection, hook_id: int | None) -> None:
    """Raise Missing if `hook_id` is given and there is no such hook."""
    if hook_id is not None and hooks.by_id(db, hook_id) is None:
        raise missing(f"hook {hook_id}", "hook list")


def hooks_of_host(db: Connection, host: str | None) -> tuple[int, ...] | None:
    """Return the hooks at `host` or `host:port`, or None if it is not given.

    Raises Missing if there are none, and Invalid if there may be more than can be found.
    """
    if host is None:
        return None
    found = tuple(name_search.hooks_of_host(db, host, None))
    if len(found) == name_search.MOST_HOOKS:
        raise Invalid(
            f"there may be more hooks at {host} than are found here: name them one by one"
        )
    return known(found or None, f"hook at {host}", "hook list")


def missing(what: str, listing: str) -> Missing:
    """Return the error for an unknown name. It names the command that lists all names."""
    return Missing(f"there is no {what}: `tocsin {listing}` lists what there is")


def known(found: T | None, what: str, listing: str) -> T:
    """Return the thing that was found. Raises the error of `missing` if it is None."""
    if found is None:
        raise missing(what, listing)
    return found


def user(db: Connection, login: str) -> Row:
    """Return the user with this login. Raises Missing if there is none."""
    found = accounts.by_login(db, login)
    if found is None or found["kind"] != "User":
        raise missing(f"user {login!r}", "user list")
    return found


def account(db: Connection, login: str) -> Row:
    """Return the account with this login. Raises Missing if there is none."""
    found = accounts.by_login(db, login)
    if found is None:
        raise Missing(
            f"there is no account {login!r}: `tocsin user list` and `tocsin org list` list them"
        )
    return found


def rename_account(db: Connection, row: Row, name: str | None, email: str | None) -> None:
    """Change an account's name and address. None changes nothing, and an empty text removes it."""
    accounts.update(
        db,
        row["id"],
        name=row["name"] if name is None else name or None,
        email=row["email"] if email is None else email or None,
    )


def organization(db: Connection, login: str) -> Row:
    """Return the organization with this login. Raises Missing if there is none."""
    return known(organizations.by_login(db, login), f"organization {login!r}", "org list")


def app(db: Connection, name: str) -> Row:
    """Return the application with this name. Raises Missing if there is none."""
    return known(apps.by_name(db, name), f"app {name!r}", "app list")


def integration(db: Connection, name: str) -> Row:
    """Return the application with this name. Raises Invalid if it is not an integration."""
    found = app(db, name)
    if found["kind"] != "integration":
        raise Invalid(f"only an integration can act for itself, and {name!r} is an OAuth app")
    return found


def check_installable(app: Row) -> None:
    """Raise Invalid if an application is not an integration."""
    if app["kind"] != "integration":
        raise Invalid(f"only an integration can be installed, and {app['name']!r} is an OAuth app")


def installation(db: Connection, name: str, login: str) -> Row:
    """Return the application's installation on an account. Raises Missing if there is none."""
    found_app, found_account = integration(db, name), account(db, login)
    found = installations.on_account(db, found_app["id"], found_account["id"])
    return known(found, f"installation of {name} on {login}", f"app show {name}")


def repository_named(db: Connection, full_name: str) -> Row:
    """Return the repository `owner/name`. Raises Missing if there is none."""
    owner, _, name = full_name.partition("/")
    return repository(db, (owner, name))


def repository_id(db: Connection, full_name: tuple[str, str] | None) -> int | None:
    """Return the id of the repository that a listing is limited to, or None for no limit."""
    return None if full_name is None else int(repository(db, full_name)["id"])


def repository_ids(db: Connection, account: Row, names: Iterable[str]) -> list[int]:
    """Return the ids of an account's repositories. Raises Missing for an unknown name."""
    return [repository(db, (account["login"], name))["id"] for name in names]


def repository(db: Connection, full_name: tuple[str, str]) -> Row:
    """Return the repository with this owner and name, or with this former name.

    Raises Missing if there is none.
    """
    found = repository_names.find(db, *full_name)
    return known(found, f"repository {'/'.join(full_name)!r}", "repo list")
