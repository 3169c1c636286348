"""The target that a hook command names: a repository, an organization, or the installation."""

import click

from hub.cli.console import lookups, options, suggestions
from store import Connection
from store.hooks import hook_targets
from store.hooks.hook_targets import SYSTEM, HookTarget

around = options.together(
    click.option(
        "--org",
        "organization",
        metavar="ORG",
        shell_complete=suggestions.logins,
        help="This organization, and not a repository.",
    ),
    click.option("--system", is_flag=True, help="The whole installation, and not a repository."),
)
"""The options that name a target around repositories."""


def find(
    db: Connection, full_name: tuple[str, str] | None, organization: str | None, system: bool
) -> HookTarget | None:
    """Return the target that is named, or None.

    Raises Missing if it does not exist, and UsageError if several are named.
    """
    if (full_name is not None) + (organization is not None) + system > 1:
        raise click.UsageError("name one of a repository, --org and --system")
    if full_name is not None:
        return hook_targets.repository(lookups.repository(db, full_name)["id"])
    if organization is not None:
        return hook_targets.organization(lookups.organization(db, organization)["id"])
    return SYSTEM if system else None
